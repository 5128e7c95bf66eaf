import { connect } from '@jackfield/sdk/client'
import { serve, url } from './host.ts'

const client = await connect(url)

serve(() => client.call('echo', { text: 'Hello' }))
