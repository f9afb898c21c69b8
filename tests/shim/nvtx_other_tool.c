// A tool for NVTX that is not ours: counts ranges that are pushed and says so at the end.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static int pushed;

static int push(const char *name)
{
    (void)name;
    return pushed++;
}

static int pop(void)
{
    return pushed;
}

__attribute__((destructor)) static void say(void)
{
    printf("another tool saw ranges: %s\n", pushed > 0 ? "yes" : "no");
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table)
{
    const NvtxExportTableCallbacks *callbacks = export_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
