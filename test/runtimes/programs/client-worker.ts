import { play } from './checks.ts'

/** Makes the checks with the targets a POST brings. */
export default {
  fetch: async (request: Request): Promise<Response> => Response.json(await play(await request.json())),
}
