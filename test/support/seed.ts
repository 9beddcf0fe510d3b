/**
 * What the generated cases of all tests come from: the same make the same, so that no change is blamed for what another
 * run of the same tests would have found in the code before it. Every other number tries other cases.
 */
export const seed = Number(process.env['TEST_SEED'] ?? 1)
