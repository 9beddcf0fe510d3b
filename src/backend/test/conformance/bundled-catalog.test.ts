import { expect, it } from 'vitest'
import { runningBackend } from '../support/running-backend.ts'
import { runConformance } from '../../../../test/conformance/conformance.ts'
import { findFailures } from '../../../../test/conformance/find-failures.ts'

const timeout = 600_000

it('the bundled catalog conforms to the interface', { timeout }, async () => {
  const accessToken = 'correct-horse-battery-staple'
  const { url, get } = await runningBackend({ accessToken })
  const authorization = `Bearer ${accessToken}`
  expect(findFailures(await runConformance({ url: url(), credentials: { authorization } }))).toEqual([])
  const left = await get('/v1/namespace/$/list', { authorization })
  expect(left.json).toEqual({ namespaces: [] })
})
