import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

interface Workflow {
  readonly jobs: { readonly policies: { readonly steps: readonly { readonly run?: string }[] } }
}

it('the workflow lints and tests policies, and comments the decisions that a pull request changes', async () => {
  const folder = await temporaryFolder()
  const programs = join(folder, 'bin')
  const repository = join(folder, 'repository')
  await mkdir(programs)
  const main = join(projectFolder, 'dist/main.js')
  await writeFile(join(programs, 'catalog-gateway'), `#!/bin/sh\nexec node ${main} "$@"\n`, { mode: 0o755 })
  const git = (...words: readonly string[]) =>
    run('git', ['-c', 'user.name=ann', '-c', 'user.email=ann@corp.example', ...words], { cwd: repository })

  const policies = join(repository, 'policies')
  await cp(join(projectFolder, 'policies/examples/team-namespaces.yaml'), join(policies, 'teams.yaml'), {
    recursive: true,
  })
  await run('git', ['init', '--quiet', '--initial-branch=main', repository])
  await git('add', '.')
  await git('commit', '--quiet', '--message', 'before')
  await git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  const text = await readFile(join(policies, 'teams.yaml'), 'utf8')
  await writeFile(join(policies, 'teams.yaml'), text.replace('[read, drop]', '[read, drop, RestoreTable]'))

  const workflow = parse(
    await readFile(join(projectFolder, 'examples/github-actions/policies.yml'), 'utf8'),
  ) as Workflow
  const steps = workflow.jobs.policies.steps.flatMap(({ run: script }) => script ?? [])
  expect(steps).toHaveLength(5)
  const env = { ...process.env, PATH: `${programs}:${process.env['PATH']}`, GITHUB_BASE_REF: 'main' }
  // Without the installation, and without the comment on a real pull request.
  for (const script of steps.slice(1, -1)) await run('bash', ['-ec', script], { cwd: repository, env })
  const readComment = () => readFile(join(repository, 'comment.md'), 'utf8')
  expect(await readComment()).toMatch(/^Decisions that change:\n```\n[^]*RestoreTable/)

  // The first pull request with policies.
  await git('worktree', 'remove', 'before')
  const { stdout: empty } = await git(
    'commit-tree',
    '-m',
    'empty',
    '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  )
  await git('update-ref', 'refs/remotes/origin/empty', empty.trim())
  const first = { ...env, GITHUB_BASE_REF: 'empty' }
  await run('bash', ['-ec', steps.at(-2) ?? ''], { cwd: repository, env: first })
  expect(await readComment()).toBe(
    'Decisions that change:\n```\nall, as there were no policies before\n```\n',
  )
})
