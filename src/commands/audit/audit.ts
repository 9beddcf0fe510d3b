import type { Command } from 'commander'
import { compareCommand } from './audit-compare.ts'
import { queryCommand } from './audit-query.ts'
import { verifyCommand } from './audit-verify.ts'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'

export function auditCommand(io: Io): Command {
  return newCommand('audit', io)
    .description('verify and query an audit log, and compare it with the versions of tables')
    .addCommand(verifyCommand(io))
    .addCommand(queryCommand(io))
    .addCommand(compareCommand(io))
}
