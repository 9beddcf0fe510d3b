import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { stringify } from 'yaml'
import type { FollowedFiles } from '../src/lib/fs/follow-files.ts'
import { combineSources, watchFolders, type DocumentObserver } from '../src/policy/source/policy-source.ts'
import { formatPolicies, type WrittenPolicy } from '../test/policy/policy-builder.ts'

/*
 * Measures how long a reload of 10,000 policies stalls the event loop: prints the longest pause between two iterations
 * and the duration of the reload, for a change of all policies and for a change of one file.
 */

const count = 10_000

for (const files of [1, 100, count]) {
  const folder = await mkdtemp(join(tmpdir(), 'policy-reload-'))
  const all = Array.from({ length: files }, (_, file) => file)
  await write(folder, textsOf(all, files, 0))
  const [open] = watchFolders([folder]).values()
  if (open === undefined) throw new Error('no folder')
  let polling: FollowedFiles<void> | undefined
  const watched = async (observer: DocumentObserver) => (polling = await open(observer))
  const source = await combineSources(new Map([[folder, watched]]), {
    onChange: ({ error }) => error && console.error(String(error)),
  })
  for (const [round, changed] of [all, all, all.slice(0, 1)].entries()) {
    const texts = textsOf(changed, files, round + 1)
    const stall = longestStall()
    await write(folder, texts)
    const startedAt = performance.now()
    await polling?.pollNow()
    console.log(
      `${files} files, ${changed.length} changed: reloaded after ${(performance.now() - startedAt).toFixed(0)} ms, ` +
        `longest stall ${stall().toFixed(1)} ms`,
    )
  }
  source.close()
  await rm(folder, { recursive: true })
}

async function write(folder: string, texts: ReadonlyMap<string, string>): Promise<void> {
  await Promise.all([...texts].map(([name, text]) => writeFile(join(folder, name), text)))
}

function textsOf(written: readonly number[], files: number, version: number): ReadonlyMap<string, string> {
  return new Map(written.map((file) => [`${file}.yaml`, textOfFile(file, files, version)]))
}

/**
 * Measures the longest time between two event loop iterations, in milliseconds, until the returned function is called.
 */
function longestStall(): () => number {
  let last = performance.now()
  let longest = 0
  let isMeasuring = true
  const iterate = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (isMeasuring) setImmediate(iterate)
  }
  setImmediate(iterate)
  return () => {
    isMeasuring = false
    return longest
  }
}

function textOfFile(file: number, files: number, version: number): string {
  const policies: WrittenPolicy[] = []
  for (let number = file; number < count; number += files) policies.push(policy(number, version))
  return policies.map((policy) => stringify(JSON.parse(formatPolicies([policy])))).join('---\n')
}

function policy(number: number, version: number): WrittenPolicy {
  const rules = ['read', 'write', 'commit'].map((operation, rule) => ({
    id: `rule-${rule}`,
    effect: rule === 2 ? ('deny' as const) : ('allow' as const),
    subjects: { groups: [`group-${number % 200}`, `group-${(number + rule) % 190}`, `version-${version}`] },
    operations: [operation],
    ...(rule === 1 && { when: `branch != "branch-${number % 3000}"` }),
  }))
  return { name: `policy-${number}`, namespace: [`team-${number % 100}`, `project-${number}`], rules }
}
