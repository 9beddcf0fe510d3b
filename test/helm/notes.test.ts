import { expect, it } from 'vitest'
import { chartFolder } from './chart.ts'
import { helm, helms } from './helm-programs.ts'

const behindIngress = ['--set', 'ingress.enabled=true', '--set', 'ingress.hosts[0]=catalog.example']
const warning = 'Every caller has the address of the proxy in front of the pods'

/** Without a cluster, Helm 3 shows no notes. */
const [, helm4] = helms

it.skipIf(helm4 === undefined).each([
  ['without a proxy in front', [], false],
  ['behind an Ingress', behindIngress, true],
  [
    'behind an Ingress whose controller is trusted',
    [...behindIngress, '--set', 'config.listen.trustedProxies[0]=10.0.0.0/8'],
    false,
  ],
])('the notes say whether gateways see the addresses of clients: %s', async (_where, words, isWarned) => {
  const output = await helm(['install', 'lake', chartFolder, '--dry-run=client', ...words], helm4)
  expect(output).toContain('NOTES:')
  expect(output.includes(warning)).toBe(isWarned)
})
