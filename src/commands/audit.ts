import type { Command } from 'commander'
import { verifyAuditLog } from '../audit/verify.ts'
import { attempt, CommandFailure } from './failure.ts'
import { newCommand } from './new-command.ts'

/** `catalog-gateway audit verify DIR`: whether an audit log is what the gateway wrote. */
export function auditCommand(): Command {
  const audit = newCommand('audit').description('read an audit log')
  audit
    .command('verify')
    .description('check every record of an audit log and the chain that links them')
    .argument('<dir>', 'the folder of the log: `audit` in the data folder of `dev`')
    .action(verify)
  return audit
}

async function verify(folder: string): Promise<void> {
  const report = await attempt('the audit log cannot be read', () => verifyAuditLog(folder))
  const counts = `${report.records} records in ${report.chains} chains, ${report.unresolved} changes without an outcome`
  if (report.problem !== undefined) {
    const { file, line, what } = report.problem
    throw new CommandFailure(
      `broken: ${file}${line === undefined ? '' : `:${line}`}: ${what}\n${counts} before it`,
    )
  }
  if (report.chains === 0) throw new CommandFailure(`${folder} holds no audit log`)
  process.stdout.write(`good: ${counts}\n`)
  if (report.tornTail !== undefined) {
    const { file, bytes } = report.tornTail
    process.stdout.write(
      `torn tail: ${file} ends in ${bytes} bytes of a record that was never finished; ` +
        'the gateway cuts it off when it starts\n',
    )
  }
}
