/* Mean-variance policy gradient by hand: the loop fenchel's speed is measured against.
 *
 * American option (liu2018: 20 transitions, executed by force at maturity), softmax with one logit, linear in
 * ten features (normalised 3 x 3 Gaussian bumps over price and step, and a bias), one episode per update,
 * single precision. An episode ends when the option is executed.
 *
 *     y     <- y + b_y (2R + 1/lambda - 2y)
 *     theta <- theta + b_theta (2yR - R^2) sum_t grad log pi(a_t|s_t)      at the new y
 *
 *     reference_loop run UPDATES SEED B_THETA B_Y LAMBDA
 *     reference_loop replay UPDATES FILE B_THETA B_Y LAMBDA
 *
 * `run` draws its own numbers. `replay` reads two floats per transition from FILE: one for the price, one for
 * the action. Both print one JSON object.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HORIZON = 20, CENTRES = 3, FEATURES = CENTRES * CENTRES + 1 };

static const float PRICES[CENTRES] = {0.5f, 1.25f, 2.0f}, PRICE_WIDTH = 0.75f;
static const float STEPS[CENTRES] = {0.0f, 10.0f, 20.0f}, STEP_WIDTH = 10.0f;
static const float START = 1.25f, UP = 9.0f / 8.0f, DOWN = 8.0f / 9.0f, UP_PROBABILITY = 0.45f;
static const float PUT_STRIKE = 1.0f, CALL_STRIKE = 1.5f;

/* xoshiro128+ (Blackman and Vigna), seeded by splitmix64. */
static uint32_t word[4];

static void seed_generator(uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        word[i] = (uint32_t)((z ^ (z >> 31)) >> 32);
    }
}

static inline float uniform(void) {
    const uint32_t sum = word[0] + word[3], shifted = word[1] << 9;
    word[2] ^= word[0];
    word[3] ^= word[1];
    word[1] ^= word[2];
    word[0] ^= word[3];
    word[2] ^= shifted;
    word[3] = (word[3] << 11) | (word[3] >> 21);
    return (float)(sum >> 8) * 0x1p-24f;
}

/* Normalised bumps along one axis, relative to one at the point of the grid's span nearest to the value. */
static inline void bumps(float value, const float *centres, float width, float *out) {
    const float place = value / width;
    const float nearest = fminf(fmaxf(place, centres[0] / width), centres[CENTRES - 1] / width);
    float sum = 0.0f;
    for (int i = 0; i < CENTRES; i++) {
        const float centre = centres[i] / width;
        out[i] = expf((centre - nearest) * (place - 0.5f * (centre + nearest)));
        sum += out[i];
    }
    for (int i = 0; i < CENTRES; i++)
        out[i] /= sum;
}

static inline void features(float price, int step, float *phi) {
    float along_price[CENTRES], along_step[CENTRES];
    bumps(price, PRICES, PRICE_WIDTH, along_price);
    bumps((float)step, STEPS, STEP_WIDTH, along_step);
    for (int i = 0; i < CENTRES; i++)
        for (int j = 0; j < CENTRES; j++)
            phi[i * CENTRES + j] = along_price[i] * along_step[j];
    phi[FEATURES - 1] = 1.0f;
}

static inline float payoff(float price) {
    return fmaxf(PUT_STRIKE - price, 0.0f) + fmaxf(price - CALL_STRIKE, 0.0f);
}

/* One episode: its return, its score in `score`, its number of steps added to `steps`. */
static inline float play(const float *theta, const float *numbers, float *score, long *steps) {
    float price = START;
    memset(score, 0, FEATURES * sizeof *score);
    for (int step = 0; step < HORIZON; step++) {
        float phi[FEATURES], logit = 0.0f;
        const float move = numbers ? numbers[2 * step] : uniform();
        const float choice = numbers ? numbers[2 * step + 1] : uniform();
        features(price, step, phi);
        for (int i = 0; i < FEATURES; i++)
            logit += theta[i] * phi[i];
        const float execute = 1.0f / (1.0f + expf(-logit));
        const int executed = choice >= 1.0f - execute;
        for (int i = 0; i < FEATURES; i++)
            score[i] += ((float)executed - execute) * phi[i];
        ++*steps;
        if (executed)
            return payoff(price);
        price *= move < UP_PROBABILITY ? UP : DOWN;
    }
    return payoff(price);
}

static float *read_numbers(const char *path, long updates) {
    const size_t count = (size_t)updates * HORIZON * 2;
    float *numbers = malloc(count * sizeof *numbers);
    FILE *file = fopen(path, "rb");
    if (!numbers || !file || fread(numbers, sizeof *numbers, count, file) != count) {
        fprintf(stderr, "%s: cannot read %zu floats\n", path, count);
        exit(1);
    }
    fclose(file);
    return numbers;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **given) {
    if (count != 7 || (strcmp(given[1], "run") && strcmp(given[1], "replay"))) {
        fprintf(stderr, "usage: %s run|replay UPDATES SEED|FILE B_THETA B_Y LAMBDA\n", given[0]);
        return 2;
    }
    const long updates = atol(given[2]);
    const int replay = !strcmp(given[1], "replay");
    float *numbers = replay ? read_numbers(given[3], updates) : NULL;
    seed_generator(replay ? 0 : strtoull(given[3], NULL, 10));
    const float theta_step = strtof(given[4], NULL), dual_step = strtof(given[5], NULL);
    const float lambda = strtof(given[6], NULL);

    float theta[FEATURES] = {0.0f}, dual = 0.5f / lambda;
    long steps = 0;
    const double begun = now();
    for (long update = 0; update < updates; update++) {
        float score[FEATURES];
        const float ret = play(theta, numbers ? numbers + update * HORIZON * 2 : NULL, score, &steps);
        dual += dual_step * (2.0f * ret + 1.0f / lambda - 2.0f * dual);
        const float scale = theta_step * (2.0f * dual * ret - ret * ret);
        for (int i = 0; i < FEATURES; i++)
            theta[i] += scale * score[i];
    }
    const double seconds = now() - begun;

    printf("{\"seconds\": %.9g, \"steps\": %ld, \"dual\": %.9g, \"theta\": [", seconds, steps, (double)dual);
    for (int i = 0; i < FEATURES; i++)
        printf("%s%.9g", i ? ", " : "", (double)theta[i]);
    printf("]}\n");
    free(numbers);
    return 0;
}
