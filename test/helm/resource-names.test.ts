import { expect, it } from 'vitest'
import { render, valuesFile } from './chart.ts'
import { helms } from './helm-programs.ts'

const prefix = 'a-release-for-the-catalog-of-the-department-of'

async function names(release: string): Promise<readonly string[]> {
  return (await render([], { release })).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
}

it.skipIf(helms.length === 0)(
  'long names of releases lead to different names, short enough for Services',
  async () => {
    const [sales, legal] = [await names(`${prefix}-sales`), await names(`${prefix}-law`)]
    expect(sales.filter((name) => legal.includes(name))).toEqual([])
    for (const name of [...sales, ...legal]) expect(name).toMatch(/^\w+ [a-z]([a-z0-9-]{0,61}[a-z0-9])$/)
  },
)

it.skipIf(helms.length === 0)(
  'a name of the chart in this release replaces its own, references included',
  async () => {
    const words = ['--values', valuesFile('bundled-catalog'), '--set', 'fullnameOverride=gatekeeper']
    const manifests = await render(words)
    for (const { metadata } of manifests) expect(metadata.name).toMatch(/^gatekeeper(-|$)/)
    expect(JSON.stringify(manifests)).not.toContain('release-catalog-gateway')
  },
)
