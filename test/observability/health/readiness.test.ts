import { rm, writeFile } from 'node:fs/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { tokenIssuersSchema } from '../../../src/config/token-issuer-settings.ts'
import { signToken, startIssuer, type TestIssuer } from '../../identity/jwt/token-issuer.ts'
import { seriesOf } from '../metrics/series.ts'
import { eventually } from '../../support/eventually.ts'

async function readyz(adminUrl: string) {
  const response = await fetch(`${adminUrl}/readyz`)
  return { status: response.status, body: await response.json() }
}

function trusting({ configuration }: TestIssuer): GatewaySetup {
  return {
    adjust: (settings) => ({
      ...settings,
      identity: { ...settings.identity, issuers: tokenIssuersSchema.parse([configuration]) },
    }),
  }
}

it('a gateway becomes ready with the keys of an issuer, and stays ready when they get too old', async () => {
  const issuer = await startIssuer()
  onTestFinished(() => issuer.stop())
  await issuer.stop()
  const clock = vi.spyOn(Date, 'now')
  onTestFinished(() => clock.mockRestore())
  const { gateway } = await startGatewayAndUpstream(trusting(issuer))
  expect(await readyz(gateway.adminUrl)).toEqual({
    status: 503,
    body: {
      status: 'not ready',
      problems: { jwks: 'no JWKS loaded yet: tokens cannot be verified' },
    },
  })
  expect(await seriesOf(gateway, 'catalog_gateway_ready')).toMatchObject({
    '{check="jwks"}': 0,
    '{check="audit"}': 1,
  })
  expect(await seriesOf(gateway, 'catalog_gateway_jwks_usable')).toEqual({ '{issuer="corp"}': 0 })

  await issuer.start()
  await eventually(async () => expect(await readyz(gateway.adminUrl)).toMatchObject({ status: 200 }))
  expect(await seriesOf(gateway, 'catalog_gateway_jwks_keys')).toEqual({ '{issuer="corp"}': 1 })
  const [fetched] = Object.values(
    await seriesOf(gateway, 'catalog_gateway_jwks_last_fetch_timestamp_seconds'),
  )
  expect(Math.abs(Date.now() / 1000 - (fetched ?? 0))).toBeLessThan(60)

  await issuer.stop()
  clock.mockImplementation(() => new Date().getTime() + 25 * 3_600_000)
  expect(await seriesOf(gateway, 'catalog_gateway_jwks_usable')).toEqual({ '{issuer="corp"}': 0 })
  const authorization = `Bearer ${await signToken(issuer.key)}`
  const refused = await fetch(`${gateway.url}/v1/table/a$t/describe`, {
    method: 'POST',
    headers: { authorization },
  })
  expect(refused.status).toBe(503)
  await eventually(async () => {
    const [failures] = Object.values(
      await seriesOf(gateway, 'catalog_gateway_jwks_consecutive_fetch_failures'),
    )
    expect(failures).toBeGreaterThan(0)
  })
  // The lock of the audit folder counts as held when it is refreshed by the new time.
  await eventually(async () => expect(await readyz(gateway.adminUrl)).toMatchObject({ status: 200 }))
})

it('a gateway without any policy is not ready', async () => {
  const { gateway } = await startGatewayAndUpstream({
    adjust: async (settings, folder) => {
      await rm(`${folder}/policies/policies.yaml`)
      await writeFile(`${folder}/policies/README.md`, 'none yet')
      return settings
    },
  })
  expect(await readyz(gateway.adminUrl)).toMatchObject({
    status: 503,
    body: { problems: { policies: 'no policies loaded: every request is denied' } },
  })
})
