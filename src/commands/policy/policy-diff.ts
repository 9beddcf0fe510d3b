import type { Command } from 'commander'
import { diffPolicies, formatDiff } from '../../policy/index.ts'
import { runStep } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { addReport, configOption, loadSources, type Report } from './policy-command.ts'

interface Options {
  readonly config?: string
  readonly failOnChange?: true
}

export function addDiff(policy: Command, io: Io): void {
  const command = policy
    .command('diff')
    .description('list the decisions that differ between the current policies and candidates')
    .argument('<before>', 'the folder of the current policies')
    .argument('<after>', 'the folder of the candidates')
    .option(...configOption)
    .option('--fail-on-change', 'exit with status 1 if a decision or a restriction changes')
  addReport(command, io, ['diff policies candidate'], diff)

  async function diff(before: string, after: string, { config, failOnChange }: Options): Promise<Report> {
    const [one, other] = [await loadSources([before], config, io), await loadSources([after], config, io)]
    const found = await runStep('the policies cannot be compared', async () =>
      diffPolicies(one.set, other.set),
    )
    if (found.length === 0) return { content: found, lines: ['no decision changes'] }
    const lines = formatDiff(found, [...one.set.documents, ...other.set.documents])
    const failure = failOnChange ? `${found.length} decisions change` : undefined
    return { content: found, lines, failure }
  }
}
