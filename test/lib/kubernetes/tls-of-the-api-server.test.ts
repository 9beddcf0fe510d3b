import { copyFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createKubernetesClient } from '../../../src/kubernetes/kubernetes-client.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { listenLocally } from '../../support/local-server.ts'

async function openTlsServer() {
  const folder = await temporaryFolder()
  const authority = await makeAuthority(folder, 'cluster')
  const other = await makeAuthority(folder, 'other')
  const { cert, key } = await authority.issue('apiserver', 'IP:127.0.0.1', { usage: 'serverAuth' })
  const paths: (string | undefined)[] = []
  const server = createServer({ cert, key }, ({ url }, response) => {
    paths.push(url)
    response.setHeader('connection', 'close').end('{}')
  })
  const port = await listenLocally(server)
  const tokenFile = join(folder, 'token')
  const caFile = join(folder, 'ca.crt')
  await writeFile(tokenFile, 'token')
  const client = createKubernetesClient({ apiServer: `https://127.0.0.1:${port}/prefix/`, caFile, tokenFile })
  onTestFinished(() => client.close())
  return { client, caFile, authority, other, paths, server, folder }
}

it.skipIf(!hasOpenssl())('trusts the CA of the file alone, and reads it for each connection', async () => {
  const { client, caFile, authority, other, paths } = await openTlsServer()
  await copyFile(other.certFile, caFile)
  await expect(client.get('/api')).rejects.toMatchObject({ status: undefined })
  await writeFile(caFile, '')
  await expect(client.get('/api')).rejects.toMatchObject({
    status: undefined,
    message: 'no response from the API server: the CA certificate of the API server cannot be used',
  })
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  await writeFile(caFile, broken)
  await expect(client.get('/api')).rejects.toMatchObject({ status: undefined })
  expect(paths).toEqual([])
  await copyFile(authority.certFile, caFile)
  await expect(client.get('/api')).resolves.toEqual({})
  expect(paths).toEqual(['/prefix/api'])
})

it.skipIf(!hasOpenssl())('an expired certificate or CA is named, and a renewed one is used', async () => {
  const { client, caFile, authority, server, folder } = await openTlsServer()
  await copyFile(authority.certFile, caFile)
  await expect(client.get('/api')).resolves.toEqual({})
  const expired = await authority.issue('expired', 'IP:127.0.0.1', { usage: 'serverAuth', days: -1 })
  server.setSecureContext(expired)
  await expect(client.get('/api')).rejects.toMatchObject({
    status: undefined,
    message: 'no response from the API server: certificate has expired',
  })
  const old = await makeAuthority(folder, 'old', { days: -1, issuer: authority })
  const { cert, key } = await old.issue('of-old', 'IP:127.0.0.1', { usage: 'serverAuth' })
  server.setSecureContext({ cert: cert + old.cert, key })
  await expect(client.get('/api')).rejects.toMatchObject({
    status: undefined,
    message: 'no response from the API server: certificate has expired',
  })
  const renewed = await makeAuthority(folder, 'renewed')
  server.setSecureContext(await renewed.issue('of-renewed', 'IP:127.0.0.1', { usage: 'serverAuth' }))
  await copyFile(renewed.certFile, caFile)
  await expect(client.get('/api')).resolves.toEqual({})
})
