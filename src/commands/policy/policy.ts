import type { Command } from 'commander'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'
import { addDiff } from './policy-diff.ts'
import { addExplain } from './policy-explain.ts'
import { addLint } from './policy-lint.ts'
import { addReplay } from './policy-replay.ts'
import { addTest } from './policy-test.ts'
import { addWhatCan } from './policy-what-can.ts'
import { addWhoCan } from './policy-who-can.ts'

export function policyCommand(io: Io): Command {
  const policy = newCommand('policy', io).description('test, explain, compare and query access policies')
  for (const add of [addTest, addExplain, addWhoCan, addWhatCan, addLint, addDiff, addReplay]) add(policy, io)
  return policy
}
