import { generateKeyPairSync } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { publicKeyId } from '../../../src/lib/tls/public-key-id.ts'
import {
  openSignedBundle,
  createBundleLocation,
  signBundle,
} from '../../../src/policy/source/policy-bundle.ts'
import { watchPolicies } from '../../../src/policy/source/policy-source.ts'
import { loadPoliciesFrom } from '../../../src/policy/source/load-policies.ts'
import { PolicyError } from '../../../src/policy/language/policy-error.ts'
import { readPublicKey } from '../../../src/policy/source/open-policy-location.ts'
import { readerPolicy } from './policy-folder.ts'
import { createAuthorizationRequest, createCaller } from '../policy-builder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const stranger = generateKeyPairSync('ed25519')
const open = (bytes: Buffer) => () => openSignedBundle(bytes.toString('utf8'), [publicKey], 'b')
const signed = (serial: number, user: string, key = privateKey): string =>
  signBundle({ serial, files: { 'team/a.yaml': readerPolicy('a', user) } }, key)

it('reads a bundle signed with any of the trusted keys', () => {
  const keys = [stranger.publicKey, publicKey]
  expect(openSignedBundle(signed(7, 'alice'), keys, 'b')).toEqual({
    serial: 7,
    files: { 'team/a.yaml': readerPolicy('a', 'alice') },
  })
  expect(openSignedBundle(signed(7, 'alice', stranger.privateKey), keys, 'b').serial).toBe(7)
})

it('rejects a bundle with any byte changed, added or removed', () => {
  const whole = Buffer.from(signed(7, 'alice'))
  for (let index = 0; index < whole.length; index++) {
    const changed = Buffer.from(whole)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(open(changed), `byte ${index}`).toThrow(PolicyError)
    expect(open(whole.subarray(0, index)), `cut at ${index}`).toThrow(PolicyError)
  }
  for (const added of ['x', '\n', '{}\n']) {
    expect(open(Buffer.concat([whole, Buffer.from(added)]))).toThrow(PolicyError)
  }
})

it('rejects a bundle signed with an untrusted key, naming the key, before parsing it', () => {
  expect(() => openSignedBundle(signed(7, 'alice', stranger.privateKey), [publicKey], 'b')).toThrow(
    `b: is signed with the key ${publicKeyId(stranger.publicKey)}, which is not trusted here`,
  )
})

it('loads a newer bundle and keeps the last valid one on an older, forged or broken bundle', async () => {
  const file = join(await temporaryFolder(), 'policies.bundle')
  const release = async (text: string): Promise<void> => {
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  }
  await release(signed(7, 'alice'))
  const errors: PolicyError[] = []
  const source = await watchPolicies(createBundleLocation(file, [publicKey]), {
    intervalMs: 5,
    onError: (error) => errors.push(error),
  })
  onTestFinished(() => source.close())
  const mayRead = (user: string): boolean =>
    source.current().decide(createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a']))
      .allowed
  const reported = (message: string) =>
    vi.waitUntil(() => errors.some((error) => error.message.includes(message)), {
      timeout: 20_000,
      interval: 5,
    })

  await release(signed(8, 'robin'))
  await vi.waitUntil(() => mayRead('robin'), { timeout: 20_000, interval: 5 })
  await release(signed(7, 'alice'))
  await reported('has the serial 7, but 8 was loaded before')
  await release(signed(9, 'eve', stranger.privateKey))
  await reported('which is not trusted here')
  await release(signed(9, 'eve').replace('eve', 'bob'))
  await reported('has an invalid signature')
  await release(signed(10, '*'))
  await reported('team/a.yaml:')
  expect(['alice', 'robin', 'eve', 'bob'].map(mayRead)).toEqual([false, true, false, false])
})

it('names the file of a missing bundle and of an invalid key', async () => {
  const folder = await temporaryFolder()
  const missing = join(folder, 'missing')
  await expect(loadPoliciesFrom(createBundleLocation(missing, [publicKey]))).rejects.toThrow(
    `${missing}: cannot be read (ENOENT)`,
  )
  const pem = join(folder, 'key.pem')
  for (const text of [
    'nonsense',
    privateKey.export({ type: 'pkcs8', format: 'pem' }),
    generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'pem' }),
  ]) {
    await writeFile(pem, text)
    await expect(readPublicKey(pem)).rejects.toThrow(`${pem}: is not a public Ed25519 key in PEM`)
  }
  await writeFile(pem, publicKey.export({ type: 'spki', format: 'pem' }))
  expect(publicKeyId(await readPublicKey(pem))).toBe(publicKeyId(publicKey))
})
