import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readServerCertificates, readTlsFiles } from '../../../src/lib/tls/certificates.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it.skipIf(!hasOpenssl()).each([
  [
    'of another type, which OpenSSL does not compare',
    () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ],
  ['of the same type', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
])('a certificate is refused with a key %s (skipped without openssl)', async (_what, generate) => {
  const folder = await temporaryFolder()
  const { certFile, keyFile } = await makeAuthority(folder, 'own')
  const otherFile = join(folder, 'other.key')
  await writeFile(otherFile, generate().privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const asServer = (keyFile: string) => readServerCertificates({ certFile, keyFile, clientAuth: 'none' })
  const asClient = (keyFile: string) =>
    readTlsFiles({ clientCertificate: { certFile, keyFile } }, 'for the upstream')
  for (const read of [asServer, asClient]) {
    await expect(read(keyFile)).resolves.toMatchObject({ cert: expect.stringContaining('CERTIFICATE') })
    await expect(read(otherFile)).rejects.toThrow(
      `the key in ${otherFile} is not that of the certificate in ${certFile}`,
    )
  }
})
