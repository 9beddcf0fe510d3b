/** Whether the long forms of tests run (`npm run test:thorough`): more cases, and every store for every test. */
export const isThorough = process.env['THOROUGH'] === '1'

/** Returns all cases in the long form; in the short one the first and every `every`th after it. */
export function everyInTheLongForm<Case>(cases: readonly Case[], every: number): readonly Case[] {
  return isThorough ? cases : cases.filter((_, index) => index % every === 0)
}
