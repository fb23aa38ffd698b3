/* The interface of FMI 2.0 for model exchange around vector_field. Above this come the field and
   N_STATES, N_INPUTS, HAS_CLOCK, GUID and start_values.

   Value references: states from 0, their derivatives from N_STATES, inputs from 2 N_STATES. */

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

typedef struct {
    double time;
    double z[N_STATES + N_INPUTS + HAS_CLOCK];
} Instance;

static void start(Instance *own)
{
    own->time = 0.0;
    for (int i = 0; i < N_STATES; i++) own->z[i] = start_values[i];
    for (int i = N_STATES; i < N_STATES + N_INPUTS + HAS_CLOCK; i++) own->z[i] = 0.0;
}

static void derivatives(Instance *own, double *dxdt)
{
    if (HAS_CLOCK) own->z[N_STATES + N_INPUTS + HAS_CLOCK - 1] = own->time;
    vector_field(own->z, dxdt);
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid,
                                     fmi2String resources, const void *callbacks,
                                     fmi2Boolean visible, fmi2Boolean logging)
{
    (void)name; (void)resources; (void)callbacks; (void)visible; (void)logging;
    if (type != fmi2ModelExchange || !guid || strcmp(guid, GUID) != 0) return NULL;
    Instance *own = calloc(1, sizeof(Instance));
    if (own) start(own);
    return own;
}

EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }
EXPORT fmi2Status fmi2Reset(fmi2Component c) { start(c); return fmi2OK; }

EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance,
                                      fmi2Real from, fmi2Boolean has_end, fmi2Real end)
{
    (void)has_tolerance; (void)tolerance; (void)has_end; (void)end;
    ((Instance *)c)->time = from;
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ((Instance *)c)->time = time;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t count,
                              fmi2Real value[])
{
    Instance *own = c;
    double dxdt[N_STATES];
    derivatives(own, dxdt);
    for (size_t k = 0; k < count; k++) {
        if (vr[k] < N_STATES) value[k] = own->z[vr[k]];
        else if (vr[k] < 2 * N_STATES) value[k] = dxdt[vr[k] - N_STATES];
        else if (vr[k] < 2 * N_STATES + N_INPUTS) value[k] = own->z[vr[k] - N_STATES];
        else return fmi2Error;
    }
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t count,
                              const fmi2Real value[])
{
    Instance *own = c;
    for (size_t k = 0; k < count; k++) {
        if (vr[k] < N_STATES) own->z[vr[k]] = value[k];
        else if (vr[k] >= 2 * N_STATES && vr[k] < 2 * N_STATES + N_INPUTS)
            own->z[vr[k] - N_STATES] = value[k];
        else return fmi2Error;
    }
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t count)
{
    if (count != N_STATES) return fmi2Error;
    memcpy(((Instance *)c)->z, x, N_STATES * sizeof(double));
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t count)
{
    if (count != N_STATES) return fmi2Error;
    memcpy(x, ((Instance *)c)->z, N_STATES * sizeof(double));
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dxdt[], size_t count)
{
    if (count != N_STATES) return fmi2Error;
    derivatives(c, dxdt);
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t count)
{
    (void)c;
    for (size_t k = 0; k < count; k++) x[k] = 1.0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    (void)c;
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_set_state_before,
                                              fmi2Boolean *enter_event_mode, fmi2Boolean *terminate)
{
    (void)c; (void)no_set_state_before;
    *enter_event_mode = *terminate = 0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real x[], size_t count)
{
    (void)c; (void)x;
    return count ? fmi2Error : fmi2OK;
}

EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t count,
                                      const fmi2String names[])
{
    (void)c; (void)on; (void)count; (void)names;
    return fmi2OK;
}

#define MODE(name) EXPORT fmi2Status name(fmi2Component c) { (void)c; return fmi2OK; }
MODE(fmi2EnterInitializationMode)
MODE(fmi2ExitInitializationMode)
MODE(fmi2EnterEventMode)
MODE(fmi2EnterContinuousTimeMode)
MODE(fmi2Terminate)

/* there are only real variables, and optional features are not supported */
#define NONE(name, type) \
    EXPORT fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t count, type value) \
    { (void)c; (void)vr; (void)value; return count ? fmi2Error : fmi2OK; }
NONE(fmi2GetInteger, fmi2Integer *)
NONE(fmi2GetBoolean, fmi2Boolean *)
NONE(fmi2GetString, fmi2String *)
NONE(fmi2SetInteger, const fmi2Integer *)
NONE(fmi2SetBoolean, const fmi2Boolean *)
NONE(fmi2SetString, const fmi2String *)

EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *s) { (void)c; (void)s; return fmi2Error; }
EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate s) { (void)c; (void)s; return fmi2Error; }
EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *s) { (void)c; (void)s; return fmi2Error; }
EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate s, size_t *size)
{ (void)c; (void)s; (void)size; return fmi2Error; }
EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t size)
{ (void)c; (void)s; (void)b; (void)size; return fmi2Error; }
EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte b[], size_t size, fmi2FMUstate *s)
{ (void)c; (void)b; (void)size; (void)s; return fmi2Error; }
EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference z[], size_t nz,
                                               const fmi2ValueReference v[], size_t nv,
                                               const fmi2Real dv[], fmi2Real dz[])
{ (void)c; (void)z; (void)nz; (void)v; (void)nv; (void)dv; (void)dz; return fmi2Error; }
