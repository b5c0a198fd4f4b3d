/* SPDX-License-Identifier: MIT */
/*
 * What a line of a call stack says about the part of a program that it belongs to, by the files and
 * functions of PyTorch and of the libraries around it. A file and a name are looked up apart, each
 * to a small number, so that convert --anonymize can keep the numbers where it masks the words.
 */
#ifndef MEMTOOL_TORCH_FRAME_CLASS_H
#define MEMTOOL_TORCH_FRAME_CLASS_H

#include "support/str.h"

enum mt_frame_class {
    MT_FRAME_NATIVE, /* compiled; says nothing */
    MT_FRAME_USER,
    MT_FRAME_STEP,  /* of the user's, a function called step */
    MT_FRAME_TORCH, /* Python of PyTorch, or of what wraps models */
    MT_FRAME_CALL,  /* nn.Module.__call__ */
    MT_FRAME_CONTAINER,
    MT_FRAME_LAYER, /* forward() of one of PyTorch's layers */
    MT_FRAME_BACKWARD,
    MT_FRAME_FUNCTION, /* autograd.Function.apply, of both parts: in the backward part it stands
                          outermost, in a thread of its own */
    MT_FRAME_OPTIMIZER,
    MT_FRAME_SETUP,    /* a model is made, moved or loaded */
    MT_FRAME_WORKSPACE /* cuBLAS takes memory for itself */
};

/* Stands before the number of a file's kind and behind a name, both masked: "~07/123/456.py". */
#define MT_FRAME_KIND_SIGN '~'

/* 0: of none that is known. Masked ones keep theirs. */
unsigned mt_frame_file_kind(struct mt_str file);
unsigned mt_frame_name_kind(struct mt_str name);

/* `python`: a line of Python, of a file or of a notebook's cell. */
enum mt_frame_class mt_frame_class(bool python, unsigned file_kind, unsigned name_kind);

/* By its name the line belongs to a cache, as that of keys and values. */
bool mt_frame_is_cache(unsigned file_kind, unsigned name_kind);

/* A file that torch.compile wrote: TorchInductor names it by a hash of what is in it. */
bool mt_frame_file_is_generated(struct mt_str file);

#endif
