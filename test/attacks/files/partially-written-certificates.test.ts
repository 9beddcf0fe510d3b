import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { TlsSettings } from '../../../src/config/listen-settings.ts'
import { readServerCertificates, readPemFile } from '../../../src/lib/tls/certificates.ts'
import { readUpstreamOptions } from '../../../src/gateway/upstream/upstreams.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { directOutbound } from '../../../src/outbound/outbound.ts'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

// Files that are being written may be empty or truncated. Without a CA, node:tls trusts all public CAs: any certificate
// would be accepted as a client certificate.
describe.skipIf(!hasOpenssl())('incomplete TLS files are not used (skipped without openssl)', () => {
  const folder = sharedFolder()
  let own: TestAuthority
  let whole: Record<'certFile' | 'keyFile' | 'clientCaFile' | 'clientCrlFile', string>

  beforeAll(async () => {
    own = await makeAuthority(folder, 'own')
    const server = await own.issue('server', 'IP:127.0.0.1')
    whole = {
      certFile: server.cert,
      keyFile: server.key,
      clientCaFile: own.cert,
      clientCrlFile: await own.revocationList([]),
    }
  })

  async function written(texts: typeof whole): Promise<TlsSettings> {
    const files = { ...texts }
    for (const [name, text] of Object.entries(texts)) {
      await writeFile((files[name as keyof typeof texts] = join(folder, name)), text)
    }
    return { ...files, clientAuth: 'required' }
  }

  it('accepts complete files', async () => {
    expect(await readServerCertificates(await written(whole))).toMatchObject({ ca: own.cert })
  })

  const states: readonly (readonly [state: string, spoil: (text: string) => string])[] = [
    ['empty', () => ''],
    ['cut', (text) => text.slice(0, -40)],
    ['whole but for the next, which is cut,', (text) => text + text.slice(0, 200)],
    ['blank', (text) => text.replaceAll(/[^\n]/g, ' ')],
    ['something else', () => '-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n'],
  ]
  const names = ['certFile', 'keyFile', 'clientCaFile', 'clientCrlFile'] as const

  it.each(states)('rejects any file that is %s', async (_state, spoil) => {
    for (const name of names) {
      const settings = await written({ ...whole, [name]: spoil(whole[name]) })
      await expect(readServerCertificates(settings), name).rejects.toThrow(
        /^expected a complete PEM file with a /,
      )
    }
  })

  it.each(states)('rejects an upstream CA that is %s', async (_state, spoil) => {
    const file = join(folder, 'upstream.pem')
    await writeFile(file, spoil(own.cert))
    const settings = upstreamSchema.parse({ url: 'https://127.0.0.1', caFile: file })
    await expect(readUpstreamOptions(settings, directOutbound)).rejects.toThrow(
      'expected a complete PEM file with a CERTIFICATE',
    )
  })

  it('accepts text around PEM blocks', async () => {
    const file = join(folder, 'talkative.pem')
    const text = `Subject: own\n${own.cert}\r\n# and its key\n${own.key.replaceAll('\n', '\r\n')}the end`
    await writeFile(file, text)
    expect(await readPemFile(file, 'CERTIFICATE')).toBe(text)
    expect(await readPemFile(file, 'PRIVATE KEY')).toBe(text)
  })
})
