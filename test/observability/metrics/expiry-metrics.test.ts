import { X509Certificate } from 'node:crypto'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey, revokeKey, rotateKey } from '../../../src/identity/api-keys/key-store.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { seriesOf } from './series.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const name = 'catalog_gateway_api_keys_next_expiry_timestamp_seconds'
const hour = 3_600_000

const endOf = (pem: string): number => Date.parse(new X509Certificate(pem).validTo) / 1000

it('shows the expiry of the last key of a principal, and of no other key', async () => {
  const folder = await temporaryFolder()
  const [store, pepperFile] = [join(folder, 'keys.yaml'), join(folder, 'pepper')]
  const pepper = Buffer.from('a-pepper-of-at-least-thirty-two-characters')
  await writeFile(pepperFile, pepper)
  await writeFile(store, 'keys: []\n')
  const { gateway } = await startGatewayAndUpstream({
    adjust: (settings) => ({
      ...settings,
      identity: { ...settings.identity, apiKeys: { ...settings.identity.apiKeys, store, pepperFile } },
    }),
  })
  const shows = (end: Date | undefined) =>
    eventually(async () =>
      expect(await seriesOf(gateway, name)).toEqual(end === undefined ? {} : { '': end.getTime() / 1000 }),
    )
  const make = (principal: string, expiresAt?: Date) =>
    createKey(store, pepper, { principal, groups: [], ...(expiresAt && { expiresAt }) })
  const [soon, later] = [new Date(Date.now() + hour), new Date(Date.now() + 2 * hour)]

  await shows(undefined)
  await make('for-ever')
  const { key } = await make('etl', soon)
  await make('reports', later)
  await shows(soon)
  // With a successor, the principal still has a key.
  const { key: next } = await rotateKey(store, pepper, { id: key.id, endsAt: soon })
  await shows(new Date(next.expiresAt ?? '') < later ? new Date(next.expiresAt ?? '') : later)
  await revokeKey(store, next.id)
  await shows(soon)
  await revokeKey(store, key.id)
  await shows(later)

  await writeFile(store, 'keys: [')
  await eventually(async () =>
    expect(await seriesOf(gateway, 'catalog_gateway_api_keys_outdated')).toEqual({ '': 1 }),
  )
})

it.skipIf(!hasOpenssl())('shows the expiry of certificates, including a replaced one', async () => {
  const folder = await temporaryFolder()
  const authority = await makeAuthority(folder, 'own')
  const first = await authority.issue('first', 'IP:127.0.0.1')
  const shorter = await authority.issue('shorter', 'IP:127.0.0.1', { days: 1 })
  const [certificate, key] = [join(folder, 'live.pem'), join(folder, 'live.key')]
  await copyFile(first.certFile, certificate)
  await copyFile(first.keyFile, key)
  const { gateway } = await startGatewayAndUpstream({
    adjust: (settings) => ({
      ...settings,
      listen: { ...settings.listen, tls: { certFile: certificate, keyFile: key, clientAuth: 'none' } },
      upstreams: settings.upstreams.map((upstream) => ({
        ...upstream,
        clientCertificate: { certFile: first.certFile, keyFile: first.keyFile },
      })),
    }),
  })
  const shown = async () => seriesOf(gateway, 'catalog_gateway_certificate_expiry_timestamp_seconds')
  expect(await shown()).toEqual({
    '{side="downstream",upstream=""}': endOf(first.cert),
    '{side="upstream",upstream="catalog"}': endOf(first.cert),
  })
  // The earliest expiry of several certificates in a file counts.
  await writeFile(certificate, (await readFile(first.certFile, 'utf8')) + shorter.cert)
  await eventually(async () =>
    expect(await shown()).toMatchObject({ '{side="downstream",upstream=""}': endOf(shorter.cert) }),
  )
})
