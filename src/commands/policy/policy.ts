import type { Command } from 'commander'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'
import { addDiff } from './policy-diff.ts'
import { addLint } from './policy-lint.ts'
import { addExplain, addWhatCan, addWhoCan } from './policy-questions.ts'
import { addReplay } from './policy-replay.ts'
import { addTest } from './policy-test.ts'

export function policyCommand(io: Io): Command {
  const policy = newCommand('policy', io).description('test, explain, compare and query access policies')
  for (const add of [addTest, addExplain, addWhoCan, addWhatCan, addLint, addDiff, addReplay]) add(policy, io)
  return policy
}
