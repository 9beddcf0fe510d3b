import { expect } from 'vitest'

/** Expects a response without console data. */
export function expectClosedConsole(response: { readonly status: number; readonly text: string }): void {
  expect(response.status).toBe(403)
  expect(JSON.parse(response.text)).toEqual({ error: expect.stringContaining('the console') })
}
