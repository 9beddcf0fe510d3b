// Starts a gateway in front of the given upstream. `writer` may do everything in one namespace, except that it may read only a
// part of one table, and nothing outside of it.
// Prints its addresses and the key of `writer` as JSON, and stops when its standard input ends.
import { openGateway } from '../gateway/support/open-gateway.ts'
import { allowedNamespace, restrictedTable, visiblePart } from './test-objects.ts'

const [upstreamUrl = ''] = process.argv.slice(2)
const gateway = await openGateway(upstreamUrl, {
  users: ['writer'],
  policies: [
    {
      name: 'allowed',
      namespace: [allowedNamespace],
      restrict: [
        {
          id: 'part',
          subjects: { users: ['writer'] },
          tables: [restrictedTable[1]],
          columns: visiblePart.columns,
          rows: visiblePart.rows,
        },
      ],
      rules: [{ id: 'own', effect: 'allow', subjects: { users: ['writer'] }, operations: ['all'] }],
    },
  ],
  adjust: (settings) => ({ ...settings, log: { ...settings.log, level: 'info' } }),
})
const { url, adminUrl, auditFolder } = gateway
process.stdout.write(`${JSON.stringify({ url, adminUrl, auditFolder, key: gateway.key('writer') })}\n`)
process.stdin.resume().once('end', () => void gateway.close())
