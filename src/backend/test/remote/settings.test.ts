import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, it } from 'vitest'
import { backendSettingsSchema } from '../../settings/backend-settings.ts'
import { resolveAddressFiles } from '../../../config/upstream/catalog-address-settings.ts'
import { readSettings, SettingsError } from '../../../config/loading/read-settings.ts'
import {
  startRecordingUpstream,
  getHeaderValues,
} from '../../../../test/gateway/support/recording-upstream.ts'
import { runningAdapter } from './running-adapter.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

function read(text: string, environment: NodeJS.ProcessEnv = {}) {
  return readSettings(backendSettingsSchema, { file: 'catalog.yaml', text, environment })
}

it('accepts a remote catalog in place of data and store', () => {
  const { catalog, data } = read('catalog: { remote: { url: "https://catalog.example/base" } }')
  expect([catalog.remote, data]).toEqual([
    {
      url: 'https://catalog.example/base',
      delimiter: '$',
      headerDialect: 'catalog',
      maxConnections: 128,
      timeouts: { responseHeadersTimeoutMs: 300_000, responseBodyTimeoutMs: 60_000 },
    },
    undefined,
  ])
  const fromEnvironment = read('', { CATALOG_GATEWAY__CATALOG__REMOTE__URL: 'http://a.example' })
  expect(fromEnvironment.catalog.remote?.url).toBe('http://a.example')
})

it('rejects settings of both, of neither and of an invalid remote catalog', () => {
  const remote = 'catalog: { remote: { url: "http://a.example" } }'
  const mistaken: [text: string, says: string][] = [
    ['', 'data: expected either data, or catalog.remote'],
    [`data: { folder: data }\n${remote}`, 'data: expected either data, or catalog.remote'],
    [
      `${remote}\nstore: { postgres: { url: "postgresql://a/b" } }`,
      'store: a remote catalog has its own store',
    ],
    ['catalog: { remote: {} }', 'catalog.remote.url'],
    ['catalog: { remote: { url: "ftp://a" } }', 'catalog.remote.url'],
    ['catalog: { remote: { url: "http://u:p@a" } }', 'set `credential` to authenticate'],
    ['catalog: { remote: { url: "http://a?b" } }', 'set `credential` to authenticate'],
    ['catalog: { remote: { url: "http://a", delimiter: "" } }', 'catalog.remote.delimiter'],
    ['catalog: { remote: { url: "http://a", credential: {} } }', 'expected either value or file'],
    [
      'catalog: { remote: { url: "http://a", timeouts: { responseHeadersTimeoutMs: 0 } } }',
      'timeouts.responseHeadersTimeoutMs',
    ],
    ['catalog: { remote: { url: "http://a", more: 1 } }', 'catalog.remote.more: unknown setting'],
  ]
  for (const [text, says] of mistaken) {
    expect(() => read(text), text).toThrow(SettingsError)
    expect(() => read(text), text).toThrow(says)
  }
})

it('resolves the files of an address relative to the settings file', () => {
  const address = { caFile: 'ca.pem', credential: { header: 'authorization' as const, file: 'token' } }
  expect(resolveAddressFiles(address, (path) => `/etc/${path}`)).toEqual({
    caFile: '/etc/ca.pem',
    credential: { header: 'authorization', file: '/etc/token' },
  })
})

it('reads a credential from its file, and fails to start without it', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const file = join(await temporaryFolder(), 'credential')
  await writeFile(file, 'Bearer from a file\n')
  const { get } = await runningAdapter(upstream.url, { credential: { file } })
  await get('/v1/namespace/$/table/list').catch(() => undefined)
  expect(getHeaderValues(upstream.requests[0] ?? { rawHeaders: [] }, 'authorization')).toEqual([
    'Bearer from a file',
  ])
  await expect(runningAdapter(upstream.url, { credential: { file: `${file}x` } })).rejects.toThrow('ENOENT')
  await expect(runningAdapter(upstream.url, { caFile: `${file}x` })).rejects.toThrow('ENOENT')
})
