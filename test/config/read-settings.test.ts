import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { z } from 'zod'
import { readSettings, SettingsError } from '../../src/settings/read-settings.ts'

const schema = z.strictObject({
  name: z.string().default('unnamed'),
  listen: z.strictObject({ host: z.string().default('localhost'), port: z.int().default(80) }).prefault({}),
  upstream: z
    .strictObject({
      url: z.string(),
      timeouts: z.strictObject({ connectTimeoutMs: z.int().default(5) }).prefault({}),
    })
    .optional(),
  dialects: z.array(z.enum(['lance', 'other'])).default([]),
  issuers: z.array(z.strictObject({ name: z.string() })).default([]),
  isStrict: z.boolean().default(false),
})

function read(text: string, environment: Record<string, string> = {}): z.output<typeof schema> {
  return readSettings(schema, { file: 'settings.yaml', text, environment })
}

function errorsIn(text: string, environment: Record<string, string> = {}): string[] {
  try {
    read(text, environment)
  } catch (error) {
    if (error instanceof SettingsError) return error.message.split('\n')
    throw error
  }
  return []
}

it('an empty file means all defaults', () => {
  const defaults = { name: 'unnamed', listen: { host: 'localhost', port: 80 }, dialects: [], issuers: [] }
  for (const text of ['', '# nothing\n', '{}']) expect(read(text)).toEqual({ ...defaults, isStrict: false })
})

// At this depth the YAML library ends the process.
it.each(['[', '{ a: ', '- '])('a file that nests %s without end is one error, with its line', (opening) => {
  expect(errorsIn(`name: deep\ndialects:\n  ${opening.repeat(20_000)}`)).toEqual([
    'settings.yaml:3: nested deeper than 200 levels',
  ])
})

it('a byte order mark within a file is named', () => {
  expect(read('\ufeffname: marked\n')).toMatchObject({ name: 'marked' })
  const message = 'unexpected byte order mark (U+FEFF) within a document; remove it'
  expect(errorsIn('---\n\ufeffname: marked\n')).toEqual([`settings.yaml:2: ${message}`])
})

it('a variable that nests without end is an error', () => {
  expect(errorsIn('', { CATALOG_GATEWAY__DIALECTS: '['.repeat(20_000) })).toEqual([
    'environment: CATALOG_GATEWAY__DIALECTS cannot be read: nested deeper than 200 levels',
  ])
})

it('the environment overrides the file, setting by setting', () => {
  const text = 'name: file\nlisten:\n  host: file\n  port: 1\n'
  const environment = { CATALOG_GATEWAY__NAME: 'environment', CATALOG_GATEWAY__LISTEN__PORT: '2' }
  expect(read(text, environment)).toMatchObject({ name: 'environment', listen: { host: 'file', port: 2 } })
})

it('a variable is named by the path of its setting, with words separated', () => {
  const environment = {
    CATALOG_GATEWAY__UPSTREAM__URL: 'http://catalog',
    CATALOG_GATEWAY__UPSTREAM__TIMEOUTS__CONNECT_TIMEOUT_MS: '7',
    CATALOG_GATEWAY__IS_STRICT: 'true',
  }
  const upstream = { url: 'http://catalog', timeouts: { connectTimeoutMs: 7 } }
  // Also if the section is empty in the file.
  for (const text of ['', 'upstream:\n', 'upstream:\n  timeouts:\n']) {
    expect(read(text, environment)).toMatchObject({ upstream, isStrict: true })
  }
})

it('lists are YAML', () => {
  const environment = {
    CATALOG_GATEWAY__DIALECTS: '[lance, other]',
    CATALOG_GATEWAY__ISSUERS: '[{ name: corp }, { name: partner }]',
  }
  expect(read('dialects: [other]', environment)).toMatchObject({
    dialects: ['lance', 'other'],
    issuers: [{ name: 'corp' }, { name: 'partner' }],
  })
})

it('text settings are not interpreted as other YAML types', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(read('name: file', { CATALOG_GATEWAY__NAME: text }).name).toBe(text)
    }),
  )
  expect(read('', { CATALOG_GATEWAY__NAME: '0123' }).name).toBe('0123')
})

it('variables without our prefix are ignored', () => {
  const environment = { PATH: '/bin', CATALOG_GATEWAYNAME: 'y', CATALOG_GATEWAY_PORT: '1' }
  expect(read('', environment).name).toBe('unnamed')
})

it('all errors are reported at once, each with its line', () => {
  const text = ['name: 7', 'listen:', '  hots: x', '  port: many', 'dialects: [lance,', '  wrong]', 'more: 1']
  expect(errorsIn(text.join('\n')).toSorted()).toEqual([
    'settings.yaml:1:1: name: expected text, received a number',
    'settings.yaml:3:3: listen.hots: unknown setting; did you mean "host"?',
    'settings.yaml:4:3: listen.port: expected a number, received "many"',
    expect.stringMatching(/^settings\.yaml:6:3: dialects\.1: .*"lance"/),
    'settings.yaml:7:1: more: unknown setting; the settings here are name, listen, upstream, dialects, issuers, isStrict',
  ])
})

it('errors in the environment name the variable', () => {
  const environment = {
    CATALOG_GATEWAY__LISTEN__PORT: 'many',
    CATALOG_GATEWAY__ISSUERS: '[{ nmae: corp }]',
    CATALOG_GATEWAY__DIALECTS: '[lance',
    CATALOG_GATEWAY__BOGUS: '1',
    CATALOG_GATEWAY__LISTEN: '{}',
  }
  expect(errorsIn('', environment).toSorted()).toEqual([
    expect.stringMatching(/^environment: CATALOG_GATEWAY__BOGUS is not a setting/),
    expect.stringMatching(/^environment: CATALOG_GATEWAY__DIALECTS is not valid YAML$/),
    expect.stringMatching(/^environment: CATALOG_GATEWAY__ISSUERS: issuers\.0\.name: /),
    'environment: CATALOG_GATEWAY__ISSUERS: issuers.0.nmae: unknown setting; did you mean "name"?',
    expect.stringMatching(/^environment: CATALOG_GATEWAY__LISTEN is not a setting/),
    expect.stringMatching(/^environment: CATALOG_GATEWAY__LISTEN__PORT: listen\.port: /),
  ])
})

it('the environment does not hide a file whose structure cannot hold the setting', () => {
  const environment = { CATALOG_GATEWAY__LISTEN__PORT: '1' }
  expect(errorsIn('listen: 7', environment)).toContainEqual(
    expect.stringMatching(
      /^environment: CATALOG_GATEWAY__LISTEN__PORT cannot be set: listen is not a section/,
    ),
  )
  expect(errorsIn('[1]', environment)).not.toEqual([])
})

it.for(['a: [1', 'name: a\nname: b', '{ a', '\tname: x'])(
  'what is not valid YAML is told with its line: %j',
  (text) => {
    expect(errorsIn(text)[0]).toMatch(/^settings\.yaml:\d+:\d+: ./)
  },
)

it('an unresolved alias is refused', () => {
  expect(errorsIn('name: *nobody')).toEqual([
    expect.stringMatching(/^settings\.yaml: Unresolved alias.*nobody/),
  ])
})

it('a file of any shape is read or refused, and never crashes the reader', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (value, text) => {
      const environment = { CATALOG_GATEWAY__LISTEN__PORT: text, CATALOG_GATEWAY__UPSTREAM__URL: text }
      for (const content of [stringify(value), text])
        expect(errorsIn(content, environment)).toBeInstanceOf(Array)
    }),
  )
})
