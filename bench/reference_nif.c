/*
 * What the benchmarks compare with: NIFs as they are written without yielding, and the least that a
 * call can cost. Built and loaded by reference.ex.
 */
#include <erl_nif.h>
#include <stdint.h>
#include <string.h>

static ERL_NIF_TERM atom_true, atom_false;

static int load(ErlNifEnv *env, void **private, ERL_NIF_TERM load_info)
{
    atom_true = enif_make_atom(env, "true");
    atom_false = enif_make_atom(env, "false");
    return 0;
}

/* copy/2: the floor of ws_mask/2. The same checks, and a new binary of the same size. */
static ERL_NIF_TERM copy(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary payload;
    unsigned key;
    ERL_NIF_TERM result;

    if (!enif_inspect_binary(env, argv[0], &payload) || !enif_get_uint(env, argv[1], &key))
        return enif_make_badarg(env);
    memcpy(enif_make_new_binary(env, payload.size, &result), payload.data, payload.size);
    return result;
}

/* inspect/1: the floor of utf8_validate/1. The same checks, and not a byte read. */
static ERL_NIF_TERM inspect(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary payload;

    if (!enif_inspect_binary(env, argv[0], &payload))
        return enif_make_badarg(env);
    return atom_true;
}

/* mask_blocking/2 and mask_dirty/2: RFC 6455 section 5.3, eight bytes at a time. */
static ERL_NIF_TERM mask(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary payload;
    unsigned number;
    ERL_NIF_TERM result;
    unsigned char *out, key[8];
    uint64_t word, key_word;
    size_t i;

    if (!enif_inspect_binary(env, argv[0], &payload) || !enif_get_uint(env, argv[1], &number))
        return enif_make_badarg(env);
    for (i = 0; i < 8; i++)
        key[i] = (unsigned char)(number >> (24 - 8 * (i % 4)));
    memcpy(&key_word, key, 8);
    out = enif_make_new_binary(env, payload.size, &result);
    for (i = 0; i + 8 <= payload.size; i += 8) {
        memcpy(&word, payload.data + i, 8);
        word ^= key_word;
        memcpy(out + i, &word, 8);
    }
    for (; i < payload.size; i++)
        out[i] = payload.data[i] ^ key[i % 4];
    return result;
}

static int is_continuation(const unsigned char *text, size_t size, size_t at)
{
    return at < size && (text[at] & 0xC0) == 0x80;
}

/* validate_blocking/1 and validate_dirty/1: Unicode 15, Table 3-7. */
static ERL_NIF_TERM validate(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary payload;
    const unsigned char *text;
    uint64_t word;
    size_t i = 0, size;

    if (!enif_inspect_binary(env, argv[0], &payload))
        return enif_make_badarg(env);
    text = payload.data;
    size = payload.size;
    while (i < size) {
        unsigned char lead = text[i];

        if (i + 8 <= size) {
            memcpy(&word, text + i, 8);
            if ((word & 0x8080808080808080u) == 0) {
                i += 8;
                continue;
            }
        }
        if (lead < 0x80) {
            i += 1;
        } else if (lead >= 0xC2 && lead <= 0xDF && is_continuation(text, size, i + 1)) {
            i += 2;
        } else if ((lead & 0xF0) == 0xE0 && is_continuation(text, size, i + 1)
                   && is_continuation(text, size, i + 2)
                   && !(lead == 0xE0 && text[i + 1] < 0xA0)
                   && !(lead == 0xED && text[i + 1] > 0x9F)) {
            i += 3;
        } else if (lead >= 0xF0 && lead <= 0xF4 && is_continuation(text, size, i + 1)
                   && is_continuation(text, size, i + 2) && is_continuation(text, size, i + 3)
                   && !(lead == 0xF0 && text[i + 1] < 0x90)
                   && !(lead == 0xF4 && text[i + 1] > 0x8F)) {
            i += 4;
        } else {
            return atom_false;
        }
    }
    return atom_true;
}

static ErlNifFunc functions[] = {
    {"copy", 2, copy, 0},
    {"inspect", 1, inspect, 0},
    {"mask_blocking", 2, mask, 0},
    {"mask_dirty", 2, mask, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"validate_blocking", 1, validate, 0},
    {"validate_dirty", 1, validate, ERL_NIF_DIRTY_JOB_CPU_BOUND},
};

ERL_NIF_INIT(Elixir.BanditNative.Bench.Reference, functions, load, NULL, NULL, NULL)
