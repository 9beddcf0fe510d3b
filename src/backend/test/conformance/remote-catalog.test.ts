import { expect, it } from 'vitest'
import { runningAdapter } from '../remote/running-adapter.ts'
import { secretsKey } from '../support/secrets-key.ts'
import { runningBackend } from '../support/running-backend.ts'
import { runConformance } from '../../../../test/conformance/conformance.ts'
import { findFailures } from '../../../../test/conformance/find-failures.ts'

const timeout = 600_000
const tokenThere = 'battery-staple-correct-horse'
const tokenHere = 'correct-horse-battery-staple'

it('a server in front of a remote catalog conforms to the interface', { timeout }, async () => {
  const catalog = await runningBackend({ accessToken: tokenThere, ...(await secretsKey()) })
  const adapter = await runningAdapter(
    catalog.url(),
    { delimiter: '::', credential: { value: `Bearer ${tokenThere}` } },
    { accessToken: tokenHere },
  )
  const credentials = { authorization: `Bearer ${tokenHere}` }
  expect(findFailures(await runConformance({ url: adapter.url, credentials }))).toEqual([])
})
