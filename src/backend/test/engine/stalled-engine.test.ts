import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startScript } from '../../../../test/e2e/built-program.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

async function buildIndex(...threads: string[]): Promise<string> {
  const script = new URL('stalled-process.ts', import.meta.url)
  const location = join(await temporaryFolder(), 'text.lance')
  return (await startScript(script, [location, ...threads]).ended).output
}

it('builds a text index over 60,000 rows with the minimum of two threads', async () => {
  expect(await buildIndex()).toMatch(/^threads ([2-9]|\d\d+), built$/m)
})

it('reports an engine with deadlocked threads as stalled', async () => {
  expect(await buildIndex('1')).toBe('threads 1, stalled\n')
})
