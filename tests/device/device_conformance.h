/* SPDX-License-Identifier: MIT */
/*
 * What every device must keep to, and the policy's known answers over it: one suite for the
 * simulated device, the fake driver and a real GPU. Needs nothing but the allocator.
 */
#ifndef TESTS_DEVICE_CONFORMANCE_H
#define TESTS_DEVICE_CONFORMANCE_H

#include "allocator/device/device.h"

/* Runs everything on a device that holds nothing yet and has at least 1 GiB free; every failure
 * goes to `say`. Returns the number of failures; *checks counts what was looked at. */
int device_conformance(struct mt_device device, void (*say)(const char *text), int *checks);

#endif
