import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { gatewaySettingsSchema } from '../../src/config/gateway-settings.ts'
import { getMembers } from '../../src/lib/json/json-values.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What a whole file needs besides the sections of an example. */
const least: Readonly<Record<string, object>> = {
  upstream: { url: 'https://catalog.example' },
  identity: {
    issuers: [{ name: 'corp', issuer: 'https://corp.example', audience: 'catalog', algorithms: ['RS256'] }],
  },
  policies: { folder: 'policies' },
  audit: { folder: 'audit' },
}

const sections = new Set(Object.keys(gatewaySettingsSchema.shape))

interface Example {
  readonly where: string
  readonly settings: Readonly<Record<string, unknown>>
}

/** The blocks of YAML whose members are all sections of the settings. Others are policies, or values of the chart. */
async function findExamples(): Promise<Example[]> {
  const found: Example[] = []
  for (const file of await readdir(`${root}/docs`, { recursive: true })) {
    if (!file.endsWith('.md')) continue
    const page = await readFile(`${root}/docs/${file}`, 'utf8')
    for (const [index, [, text = '']] of [...page.matchAll(/^```yaml[^\n]*\n(.*?)^```/gms)].entries()) {
      const settings = getMembers(parseDocument(text).toJS())
      const names = Object.keys(settings)
      if (names.length > 0 && names.every((name) => sections.has(name)))
        found.push({ where: `${file}, block ${index + 1}`, settings })
    }
  }
  return found
}

const examples = await findExamples()

describe('the settings of the documents are valid', () => {
  it('the examples of extra operations and of pass-through routes are among them', () => {
    const shown = JSON.stringify(examples)
    expect(shown).toContain('"idMembers":{"target":"CreateTable"}')
    expect(shown).toContain('"prefix":"/oauth"')
  })

  it.each(examples)('$where', ({ settings }) => {
    const { upstream, ...others } = least
    const base = 'upstreams' in settings ? others : { upstream, ...others }
    const whole: Record<string, unknown> = { ...base, ...settings }
    for (const [name, section] of Object.entries(base))
      whole[name] = { ...section, ...getMembers(settings[name]) }
    expect(gatewaySettingsSchema.safeParse(whole).error?.issues).toBeUndefined()
  })
})
