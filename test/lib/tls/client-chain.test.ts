import { X509Certificate } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { isCompleteChain } from '../../../src/lib/tls/certificates.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

describe.skipIf(!hasOpenssl())('a chain of certificates (skipped without openssl)', () => {
  const folder = sharedFolder()
  const certificates = new Map<string, X509Certificate>()

  beforeAll(async () => {
    await mkdir(join(folder, 'forged'))
    const root = await makeAuthority(folder, 'root')
    const between = await makeAuthority(folder, 'between', { issuer: root })
    const all = {
      root,
      between,
      leaf: await between.issue('leaf', 'URI:a'),
      'another root of the same name': await makeAuthority(join(folder, 'forged'), 'root'),
    }
    for (const [name, { cert }] of Object.entries(all)) certificates.set(name, new X509Certificate(cert))
  })

  it.each([
    [['leaf', 'between', 'root'], true],
    [['between', 'root'], true],
    [['root'], true],
    [[], false],
    [['leaf'], false],
    [['leaf', 'between'], false],
    [['leaf', 'root'], false],
    [['leaf', 'between', 'another root of the same name'], false],
  ])('%j is complete: %s', (names, isComplete) => {
    const chain = names.map((name) => certificates.get(name) ?? expect.fail(name))
    expect(isCompleteChain(chain)).toBe(isComplete)
  })
})
