(() => {
'use strict';

