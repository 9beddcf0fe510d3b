import { expect } from 'vitest'

/** Expects that nothing of the console was told. */
export function expectClosedConsole(answer: { readonly status: number; readonly text: string }): void {
  expect(answer.status).toBe(403)
  expect(JSON.parse(answer.text)).toEqual({ error: expect.stringContaining('the console') })
}
