import { once } from 'node:events'
import { copyFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createKubernetesClient } from '../../../src/lib/kubernetes/kubernetes-client.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { makeFolder } from '../../identity/test-authenticator.ts'

async function openTlsServer() {
  const folder = await makeFolder()
  const authority = await makeAuthority(folder, 'cluster')
  const other = await makeAuthority(folder, 'other')
  const { cert, key } = await authority.issue('apiserver', 'IP:127.0.0.1', { usage: 'serverAuth' })
  const paths: (string | undefined)[] = []
  const server = createServer({ cert, key }, ({ url }, response) => {
    paths.push(url)
    response.setHeader('connection', 'close').end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const tokenFile = join(folder, 'token')
  const caFile = join(folder, 'ca.crt')
  await writeFile(tokenFile, 'token')
  const { port } = server.address() as AddressInfo
  const client = createKubernetesClient({ apiServer: `https://127.0.0.1:${port}/prefix/`, caFile, tokenFile })
  onTestFinished(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, caFile, authority, other, paths }
}

it.skipIf(!hasOpenssl())('trusts the CA of the file alone, and reads it for each connection', async () => {
  const { client, caFile, authority, other, paths } = await openTlsServer()
  await copyFile(other.certFile, caFile)
  await expect(client.get('/api')).rejects.toMatchObject({ reason: 'Unreachable' })
  await writeFile(caFile, '')
  await expect(client.get('/api')).rejects.toMatchObject({
    reason: 'Unreachable',
    message: 'no response from the API server: the CA certificate of the API server cannot be used',
  })
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  await writeFile(caFile, broken)
  await expect(client.get('/api')).rejects.toMatchObject({ reason: 'Unreachable' })
  expect(paths).toEqual([])
  await copyFile(authority.certFile, caFile)
  await expect(client.get('/api')).resolves.toEqual({})
  expect(paths).toEqual(['/prefix/api'])
})
