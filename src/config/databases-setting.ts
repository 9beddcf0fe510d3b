import { z } from 'zod'

/** What the name of a database stands for that a client of LanceDB sends. */
export const databasesSetting = z
  .enum(['refused', 'namespaces'])
  .default('refused')
  .describe(
    'What the databases of LanceDB clients (db://NAME, connect_catalog) are. `namespaces`: the namespaces of the root; ids ' +
      'of a client are relative to its database. `refused`: nothing; other names than that of the root are refused. The ' +
      'root is the `database` of its upstream, or `any`.',
  )

export type DatabasesSetting = z.output<typeof databasesSetting>
