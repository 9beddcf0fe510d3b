/** Whether the long forms of tests run (`npm run test:thorough`): more of the same, and every store for every test. */
export const isThorough = process.env['THOROUGH'] === '1'

/** All of these cases in the long form; in the short one the first, and every so many after it. */
export function everyInTheLongForm<Case>(cases: readonly Case[], every: number): readonly Case[] {
  return isThorough ? cases : cases.filter((_, index) => index % every === 0)
}
