/* SPDX-License-Identifier: MIT */
/* Devices: the one conformance suite over the simulated device and over CUDA with the fake driver,
 * and what only a driver can do wrong. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "torch/alloc_conf.h"
#include "allocator/device/device_cuda.h"

#include "allocator/device/cuda_driver.h"
#include "device/device_conformance.h"
#include "fake_cuda/fake_cuda.h"

static struct mt_error err;

static void say(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

START_TEST(simulated_device_conforms)
{
    int checks = 0;
    const struct mt_device_sim_options o = {.total = 8192 * MT_MIB};
    struct mt_device_sim *sim = mt_device_sim_new(&o);
    ck_assert_int_eq(device_conformance(mt_device_sim_device(sim), say, &checks), 0);
    ck_assert_int_gt(checks, 100);
    ck_assert_uint_eq(mt_device_sim_used(sim), 0);
    mt_device_sim_free(sim);
}
END_TEST

static struct mt_cuda *open_cuda(int devices)
{
    struct mt_cuda *cuda = NULL;
    fake_cuda_reset(devices, 8192 * MT_MIB);
    ck_assert_msg(mt_cuda_open(NULL, &cuda, &err) == MT_OK, "%s", err.text);
    ck_assert_int_eq(mt_cuda_device_count(cuda), devices);
    return cuda;
}

START_TEST(cuda_conforms)
{
    struct mt_cuda *cuda = open_cuda(2);
    for (int i = 0; i < 2; i++) {
        int checks = 0;
        struct mt_device_cuda *d = NULL;
        ck_assert_int_eq(mt_device_cuda_new(cuda, i, &d, &err), MT_OK);
        ck_assert_int_eq(device_conformance(mt_device_cuda_device(d), say, &checks), 0);
        ck_assert_int_gt(checks, 100);
        ck_assert_uint_eq(fake_cuda_used(i), 0);
        mt_device_cuda_free(d);
    }
    ck_assert_str_eq(fake_cuda_complaint(), "");
    ck_assert_uint_eq(fake_cuda_open_things(), 0);
    mt_cuda_close(cuda);
}
END_TEST

START_TEST(no_driver)
{
    struct mt_cuda *cuda = NULL;
    ck_assert_int_eq(mt_cuda_open("/nonexistent/libcuda.so.1", &cuda, &err), MT_DEVICE);
    ck_assert_ptr_nonnull(strstr(err.text, "no CUDA driver"));
    ck_assert_int_eq(mt_cuda_open("libm.so.6", &cuda, &err), MT_DEVICE);
    ck_assert_str_eq(err.text, "the CUDA driver is too old: it has no cuInit");
    ck_assert_ptr_null(cuda);
}
END_TEST

START_TEST(no_device)
{
    struct mt_cuda *cuda = NULL;
    fake_cuda_reset(0, MT_MIB);
    ck_assert_int_eq(mt_cuda_open(NULL, &cuda, &err), MT_DEVICE);
    ck_assert_str_eq(err.text, "the CUDA driver does not start: no CUDA device (100)");
    cuda = open_cuda(1);
    struct mt_device_cuda *d = NULL;
    ck_assert_int_eq(mt_device_cuda_new(cuda, 1, &d, &err), MT_USAGE);
    ck_assert_str_eq(err.text, "there is no CUDA device 1, only 1 device(s)");
    mt_cuda_close(cuda);
}
END_TEST

START_TEST(a_failed_map_leaves_nothing)
{
    static const char *const calls[] = {"cuMemCreate", "cuMemMap", "cuMemRelease",
                                        "cuMemSetAccess"};
    struct mt_cuda *cuda = open_cuda(1);
    struct mt_device_cuda *d = NULL;
    ck_assert_int_eq(mt_device_cuda_new(cuda, 0, &d, &err), MT_OK);
    struct mt_device device = mt_device_cuda_device(d);
    uint64_t addr = 0;
    const uint64_t page = 2 * MT_MIB;
    ck_assert_int_eq(device.ops->va_reserve(device.ctx, 16 * page, &addr, &err), MT_OK);
    for (size_t i = 0; i < MT_COUNT(calls); i++) {
        fake_cuda_fail(calls[i], i == 3 ? 1 : 3, MT_CUDA_OUT_OF_MEMORY);
        ck_assert_int_eq(device.ops->map(device.ctx, addr, 4 * page, page, &err), MT_DEVICE_OOM);
        ck_assert(fake_cuda_failed());
        /* a handle whose release failed is lost with its page: nothing more can be done */
        ck_assert_uint_le(fake_cuda_used(0), i >= 2 ? page : 0);
        ck_assert_int_eq(device.ops->map(device.ctx, addr, 4 * page, page, &err), MT_OK);
        ck_assert_int_eq(device.ops->unmap(device.ctx, addr, 4 * page, page, 0, &err), MT_OK);
    }
    ck_assert_int_eq(device.ops->va_free(device.ctx, addr, 16 * page, &err), MT_OK);
    ck_assert_str_eq(fake_cuda_complaint(), "");
    mt_device_cuda_free(d);
    mt_cuda_close(cuda);
}
END_TEST

START_TEST(a_driver_that_is_gone_has_all_back)
{
    struct mt_cuda *cuda = open_cuda(1);
    struct mt_device_cuda *d = NULL;
    ck_assert_int_eq(mt_device_cuda_new(cuda, 0, &d, &err), MT_OK);
    struct mt_device device = mt_device_cuda_device(d);
    uint64_t addr = 0;
    ck_assert_int_eq(device.ops->mem_alloc(device.ctx, 2 * MT_MIB, &addr, &err), MT_OK);
    fake_cuda_shut_down();
    ck_assert_int_eq(device.ops->mem_free(device.ctx, addr, 2 * MT_MIB, &err), MT_OK);
    ck_assert_int_eq(device.ops->mem_alloc(device.ctx, 2 * MT_MIB, &addr, &err), MT_DEVICE);
    ck_assert_ptr_nonnull(strstr(err.text, "shutting down"));
    mt_device_cuda_free(d);
    mt_cuda_close(cuda);
}
END_TEST

UNIT_MAIN("live devices", simulated_device_conforms, cuda_conforms, no_driver, no_device,
          a_failed_map_leaves_nothing, a_driver_that_is_gone_has_all_back)
