import { expect, it } from 'vitest'
import { render } from './chart.ts'
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
