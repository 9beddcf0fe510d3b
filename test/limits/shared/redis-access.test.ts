import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { directOutbound } from '../../../src/outbound/outbound.ts'
import { openSharedLimits } from '../../../src/limits/shared/shared-limits.ts'
import { sharedLimitsSchema } from '../../../src/config/caller-limit-settings.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { isWithoutRedis, startRedis } from './running-redis.ts'
import type { Shared } from './sharing-gateways.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const isWithout = isWithoutRedis || !hasOpenssl()

/** Starts a server that requires TLS, a client certificate and a user; returns the settings for it. */
async function startSecureRedis() {
  const folder = await temporaryFolder()
  const authority = await makeAuthority(folder, 'authority')
  const server = await authority.issue('server', 'IP:127.0.0.1', { usage: 'serverAuth' })
  const own = await authority.issue('gateway', '', { usage: 'clientAuth' })
  const files = ['--tls-cert-file', server.certFile, '--tls-key-file', server.keyFile]
  const redis = await startRedis({
    options: [...files, '--tls-ca-cert-file', authority.certFile],
    tls: { ca: authority.cert, cert: own.cert, key: own.key },
  })
  const permissions = ['on', '>correct horse', 'resetkeys', '~{catalog-gateway}:*', '-@all']
  const commands = ['+evalsha', '+eval', '+time', '+get', '+set', '+del']
  await redis.command('ACL', 'SETUSER', 'gateway', ...permissions, ...commands)
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, 'correct horse\n')
  const access: Shared = {
    url: `rediss://127.0.0.1:${redis.port}`,
    username: 'gateway',
    passwordFile,
    tls: {
      caFile: authority.certFile,
      clientCertificate: { certFile: own.certFile, keyFile: own.keyFile },
    },
  }
  return { redis, access, passwordFile }
}

/** Opens a sync without charges; returns the last failure. */
async function sharing(settings: Shared) {
  let failure: string | undefined
  const limits = await openSharedLimits(
    sharedLimitsSchema.parse(settings),
    directOutbound,
    { synced: () => (failure = undefined), failed: (error) => (failure = inspect(error)) },
    10_000,
  )
  onTestFinished(() => limits.close())
  await limits.start()
  return { failure: () => failure }
}

it.skipIf(isWithout)('a TLS server requires certificate, user and password', async () => {
  const { redis, access, passwordFile } = await startSecureRedis()
  const wrong: readonly [Shared, RegExp][] = [
    [{ ...access, tls: {} }, /CERT/],
    [{ ...access, tls: { caFile: access.tls?.caFile } }, /SSL|closed|ECONNRESET/],
    [{ ...access, username: 'somebody' }, /WRONGPASS/],
    [{ ...access, url: `redis://127.0.0.1:${redis.port}`, tls: undefined }, /closed|ECONNRESET/],
  ]
  for (const [settings, why] of wrong) expect((await sharing(settings)).failure()).toMatch(why)
  const { failure } = await sharing(access)
  expect(failure()).toBeUndefined()

  await redis.command('ACL', 'SETUSER', 'gateway', 'resetpass', '>battery staple')
  await redis.command('CLIENT', 'KILL', 'USER', 'gateway')
  await eventually(() => expect(failure()).toContain('WRONGPASS'))
  expect(failure()).not.toContain('correct horse')
  await writeFile(passwordFile, 'battery staple')
  await eventually(() => expect(failure()).toBeUndefined())
})

it('rejects a missing file before sharing anything', async () => {
  const settings = { url: 'redis://127.0.0.1:1', passwordFile: '/nowhere/password' }
  await expect(sharing(settings)).rejects.toThrow('ENOENT')
})
