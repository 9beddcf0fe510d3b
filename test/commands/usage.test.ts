import { expect, it } from 'vitest'
import { runProgram } from '../e2e/built-program.ts'
import { runCommand } from '../support/run-command.ts'

it('--version prints the version', async () => {
  const { status, output } = await runProgram(['--version'])
  expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
})

it('a process exits with status 2 after a usage error', async () => {
  const { status, output, messages } = await runProgram(['keys', 'bogus'])
  expect({ status, output }).toEqual({ status: 2, output: '' })
  expect(messages).toMatch(/unknown command 'bogus'/)
})

const noZone = /it has no zone; expected for example 2027-01-31T10:00:00Z/
const tooLong = /expected a duration such as 30m, 12h or 7d, of at most 3650d/
const twoReadings = /has both "\/" and "\$"; expected hr\/staff\/salaries, or \["hr", "staff\$salaries"\]/

const errors: [line: string, message: RegExp][] = [
  ['', /Usage/],
  ['bogus', /unknown command 'bogus'/],
  ['dev --port abc', /expected a number from 0 to 65535/],
  ['dev --admin-port 65536', /expected a number from 0 to 65535/],
  ['serve', /required option '--config <file>'/],
  ['keys create --store a --pepper-file b --principal c --expires never', /expected a time/],
  ['keys revoke --store keys.yaml', /missing required argument 'key-id'/],
  ['policy lint', /expected --policies <dir> or --config <file>/],
  ['policy lint --kubernetes', /save the resources in a folder and use --policies: kubectl get /],
  ['policy diff a b --policies c', /put all policies of each side into its folder/],
  [
    'policy who-can --policies policies DropTabel a',
    /unknown operation "DropTabel"; did you mean "DropTable"\?/,
  ],
  ['policy who-can --policies a DropTable a//b', /a part of the id is empty/],
  ['policy explain --policies a --fact brunch=x DropTable a', /unknown fact "brunch"/],
  ['policy replay --audit a --candidate b --since never', /expected a time/],
  ['keys rotate id --store a --pepper-file b --overlap=9999d', tooLong],
  ['keys rotate id --store a --pepper-file b --overlap=1fortnight', tooLong],
  ['keys rotate id --store a --pepper-file b --overlap=-1h', tooLong],
  ['keys create --store a --pepper-file b --principal c --expires 2027-01-31T10:00:00', noZone],
  ['keys create --store a --pepper-file b --principal c --not-before 2027-01-31T10:00:00', noZone],
  ['audit query folder --since 2027-01-31T10:00:00', noZone],
  ['audit query folder --until 2027-01-31T10:00:00', noZone],
  ['policy replay --audit a --candidate b --since 2027-01-31T10:00:00', noZone],
  ['policy explain folder --fact now=2027-01-31T10:00:00', noZone],
  ['policy who-can --policies a QueryTable hr/staff$salaries', twoReadings],
  ['policy explain --policies a --as al QueryTable hr/staff$salaries', twoReadings],
  ['audit query folder --table hr/staff$salaries', twoReadings],
  ['audit compare --config gateway.yaml --namespace hr/staff$salaries', twoReadings],
]

it.for(errors)('"%s" is a usage error', async ([line, message]) => {
  const { status, output, messages } = await runCommand(words(line))
  expect({ status, output }).toEqual({ status: 2, output: '' })
  expect(messages).toMatch(message)
})

function words(line: string): string[] {
  return line.split(' ').filter((word) => word !== '')
}
