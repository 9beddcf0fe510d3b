import { expect, it } from 'vitest'
import { findFailures } from '../../../../test/conformance/find-failures.ts'
import { runConformance } from '../../../../test/conformance/conformance.ts'
import { runningBackend } from '../support/running-backend.ts'
import { freshBucket } from './object-store.ts'

const timeout = 600_000

it('a catalog with its data in an object store conforms to the interface', { timeout }, async () => {
  const { settings, folder, client } = await freshBucket()
  const accessToken = 'correct-horse-battery-staple'
  const authorization = `Bearer ${accessToken}`
  const { url, get } = await runningBackend({ ...settings, accessToken }, folder)
  const target = { url: url(), credentials: { authorization }, objectStore: client }
  expect(findFailures(await runConformance(target))).toEqual([])
  expect((await get('/v1/namespace/$/list', { authorization })).json).toEqual({ namespaces: [] })
})
