import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that wait for processes, browsers or polls for more than ten seconds (`SlowFiles` lists them after a run). */
const longFiles = [
  'attacks/upstream/credentials-in-any-response',
  'commands/dev/stopping-dev',
  'commands/exit-status',
  'commands/sighup-reload',
  'conformance/behind-the-gateway',
  'console/accessible-pages',
  'differential/upstream-requests-match-authorization',
  'e2e/commits-past-the-gateway',
  'e2e/constant-memory-bodies',
  'e2e/files-rotated-under-load',
  'e2e/outcomes-after-kills',
  'examples/embed',
  'gateway/authorization/facts-that-change-during-a-body',
  'gateway/downstream/docs-page-in-a-browser',
  'gateway/downstream/refused-uploads',
  'helm/image',
  'package/gateway-alone',
  'package/installed-packages',
  'package/typescript-application',
  'policy/source/kubernetes/watched-policies',
  'policy/source/folder-source',
]

/** Starts long files first, so that no worker runs one of them alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not that of arrays
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

function isLong({ project, moduleId }: TestSpecification): boolean {
  return project.name === 'main' && longFiles.some((name) => moduleId.endsWith(`/test/${name}.test.ts`))
}
