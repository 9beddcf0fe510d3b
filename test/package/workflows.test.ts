import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = join(projectFolder, '.github/workflows')
const workflows = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const)
const { scripts } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

it.each(workflows)('%s names actions of others by the digest of a version', (_name, text) => {
  const uses = text.split('\n').filter((line) => line.includes('uses:'))
  expect(uses.length).toBeGreaterThan(0)
  const unpinned = uses.filter((line) => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))
  expect(unpinned).toEqual([])
})

it.each(workflows)('%s runs scripts of package.json', (_name, text) => {
  const named = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = '']) => name)
  expect(named.filter((name) => !(name in scripts))).toEqual([])
})

interface Job {
  readonly steps: readonly {
    readonly id?: string
    readonly run?: string
    readonly with?: Readonly<Record<string, unknown>>
  }[]
}

it('a release publishes images with the version as the tag, as the chart asks for them', async () => {
  const release = readFileSync(join(folder, 'release.yml'), 'utf8')
  const { verify, images } = (parse(release) as { readonly jobs: Record<'verify' | 'images', Job> }).jobs
  const checkout = await temporaryFolder()
  await writeFile(join(checkout, 'package.json'), '{ "version": "1.2.3" }')
  await writeFile(join(checkout, 'CHANGELOG.md'), '## [1.2.3]\n')
  const script = verify.steps.find(({ id }) => id === 'version')?.run ?? ''
  const runFor = (tag: string) =>
    promisify(execFile)('bash', ['-ec', script], {
      cwd: checkout,
      env: {
        ...process.env,
        GITHUB_REF_NAME: tag,
        GITHUB_REPOSITORY: 'Example/Gateway',
        GITHUB_OUTPUT: join(checkout, 'output'),
      },
    })
  await runFor('v1.2.3')
  expect(await readFile(join(checkout, 'output'), 'utf8')).toBe(
    'version=1.2.3\nimage=ghcr.io/example/gateway\n',
  )
  await expect(runFor('v1.2.4')).rejects.toThrow()
  const tags = images.steps.flatMap((step) => step.with?.['tags'] ?? [])
  const prefix = '${{ needs.verify.outputs.image }}'
  expect(tags).toEqual(
    [prefix, `${prefix}-catalog`].map((image) => `${image}:\${{ needs.verify.outputs.version }}`),
  )
})
