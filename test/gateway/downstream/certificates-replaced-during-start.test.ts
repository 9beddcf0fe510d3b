import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { watchCertificates } from '../../../src/gateway/bootstrap/watch-certificates.ts'
import { readServerCertificates } from '../../../src/lib/tls/server-certificates.ts'
import { openLog } from '../../../src/observability/log/gateway-log.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { eventually } from '../support/waiting.ts'

it.skipIf(!hasOpenssl())(
  'detects a revocation between the first read and the first poll (skipped without openssl)',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'early-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const own = await makeAuthority(folder, 'own')
    const server = await own.issue('server', 'IP:127.0.0.1')
    const clientCrlFile = join(folder, 'revoked.pem')
    await writeFile(clientCrlFile, await own.revocationList([]))
    const settings = {
      certFile: server.certFile,
      keyFile: server.keyFile,
      clientAuth: 'required' as const,
      clientCaFile: own.certFile,
      clientCrlFile,
    }
    const context = await readServerCertificates(settings)
    const revoked = await own.revocationList([server])
    await writeFile(clientCrlFile, revoked)
    const onChange: unknown[] = []
    const log = openLog('silent', () => undefined)
    const followed = await watchCertificates({
      settings,
      context,
      log: log.logger,
      onChange: ({ crl }) => void onChange.push(crl),
    })
    onTestFinished(async () => {
      followed.close()
      await log.close()
    })
    await eventually(() => expect(onChange).toEqual([revoked]))
  },
)
