import { CatalogError, getRefusalOptions } from '../../catalog-api/catalog-error.ts'

/** The body of a request did not arrive in time (408). The connection cannot be reused. */
export class BodyTimeout extends CatalogError {
  constructor() {
    super('InvalidInput', 'the body of the request did not arrive in time', getRefusalOptions('body_timeout'))
  }
}
