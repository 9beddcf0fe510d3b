import { expect, it } from 'vitest'
import { findFailures } from '../../conformance/find-failures.ts'
import { runConformance } from '../../conformance/conformance.ts'
import { runningBackend } from '../support/running-backend.ts'
import { freshBucket } from './object-store.ts'

const timeout = 180_000

it('a catalog with its data in an object store conforms to the interface', { timeout }, async () => {
  const { settings, folder } = await freshBucket()
  const accessToken = 'correct-horse-battery-staple'
  const authorization = `Bearer ${accessToken}`
  const { url, get } = await runningBackend({ ...settings, accessToken }, folder)
  const errors = findFailures(await runConformance({ url: url(), credentials: { authorization } }))
  // These cases write manifests into tables directly; version-commits.test.ts covers that for an object store.
  expect(errors.filter((error) => !error.endsWith('do not lie on this machine'))).toEqual([])
  expect((await get('/v1/namespace/$/list', { authorization })).json).toEqual({ namespaces: [] })
})
