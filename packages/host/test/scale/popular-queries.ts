const text = `
github create_issue | report a bug in our github repo
github list_issues | open github issues with the label bug
github add_issue_comment | reply on a github ticket
github create_pull_request | open a PR for my branch
github merge_pull_request | merge the PR with squash
github get_pull_request_diff | what did this pull request change
github search_code | where in all github repos is this function called
github search_repositories | popular rust projects on github
github list_commits | latest commits on main
github list_workflow_runs | did the github actions workflow pass
github list_secret_scanning_alerts | were any leaked keys found in the repo
gitlab create_merge_request | open an MR
gitlab list_pipelines | gitlab CI pipelines of the branch
gitlab retry_pipeline_job | run the failed CI job again
gitlab fork_repository | fork a gitlab project
gitlab get_job_output | output of a CI job
filesystem read_text_file | show me the contents of notes.txt
filesystem write_file | save this text to a new file on disk
filesystem edit_file | replace a line in a file
filesystem list_directory | what files are in this folder
filesystem directory_tree | whole folder structure as a tree
filesystem move_file | rename a file
filesystem search_files | find all files named *.log
filesystem get_file_info | how big is the file and when was it modified
filesystem list_allowed_directories | which directories may you access
git git_status | what has changed in my working tree
git git_commit | commit the staged changes
git git_log | history of commits in the local repo
git git_create_branch | start a new git branch
git git_blame | who last touched this line
git git_checkout | switch to another branch
fetch fetch | download this web page as markdown
memory create_entities | remember that Bob is a customer, as a new entity
memory add_observations | add an observation to an entity
memory search_nodes | search the knowledge graph
memory read_graph | show everything in the knowledge graph
thinking sequentialthinking | think this through step by step
time get_current_time | what time is it in Tokyo
time convert_time | convert 3 pm Berlin to New York time
docs resolve-library-id | find the library id for react
docs query-docs | up to date documentation of next.js with code examples
playwright browser_navigate | go to example.com in the browser
playwright browser_click | press the submit button on the page
playwright browser_type | type my name into the text field
playwright browser_take_screenshot | take a screenshot of the page
playwright browser_console_messages | errors in the browser console
playwright browser_file_upload | upload a file on the web page
playwright browser_evaluate | run javascript on the page
playwright browser_network_requests | which network requests did the page make
devtools performance_start_trace | why does the page load slowly, record a performance trace
devtools emulate_network | simulate a slow 3G connection
devtools take_heapsnapshot | find a memory leak of the page
devtools lighthouse_audit | accessibility check of the page
slack slack_post_message | post a message to #general on slack
slack slack_reply_to_thread | answer in the slack thread
slack slack_add_reaction | react with a thumbs up emoji
slack slack_list_channels | which slack channels are there
slack slack_get_channel_history | what was said in the slack channel today
slack slack_get_users | who is in our slack workspace
discord discord_send | send a discord message
discord discord_ban_member | ban somebody from the discord server
discord discord_create_text_channel | new discord channel
teams create_chat_meeting | set up a Teams call with a join link
teams list_team_members | who is a member of the team
gmail send_email | send an email to Anna
gmail draft_email | prepare an email but don't send it
gmail search_emails | find the email from my boss about the budget
gmail modify_email | mark a mail as read
gmail delete_email | delete a spam email forever
gmail download_attachment | save the attachment of a mail
gmail create_filter | sort newsletters automatically into a label
outlook set_automatic_replies | turn on my out of office reply
outlook find_meeting_times | when could all of us meet, suggest times
outlook list_mail_folders | folders of my mailbox
calendar create-event | put lunch with Tom into my calendar
calendar list-events | what is on my calendar tomorrow
calendar update-event | move the event to Friday
calendar delete-event | remove the event from the calendar
calendar get-freebusy | is Maria free at three
calendar respond-to-event | accept the meeting invitation
drive search_drive | find the contract in google drive
drive export_document | get the google doc as PDF
drive share_file | give Ann access to a document
drive upload_document | put a local file on the drive
sheets get_sheet_data | read cells A1 to B10 of the spreadsheet
sheets update_cells | write numbers into the spreadsheet
sheets create_spreadsheet | new google spreadsheet
sheets add_sheet | add another tab to the spreadsheet
notion notion-search | look for the roadmap in notion
notion notion-create-pages | new notion page with meeting notes
notion notion-create-database | make a notion database with columns
notion notion-update-page | change a property of a notion page
obsidian append_content | add a line to my obsidian note
obsidian get_periodic_note | today's daily note
obsidian simple_search | search my notes in the vault
linear create_issue | new linear issue with high priority
linear list_my_issues | what linear issues are assigned to me
linear list_cycles | current cycle of the team in linear
linear create_project | start a linear project
jira jira_create_issue | file a bug in jira
jira jira_search | jira tickets that are open, by JQL
jira jira_transition_issue | move the jira ticket to done
jira jira_add_worklog | log two hours on a jira issue
jira jira_get_sprint_issues | what is in the current sprint
jira jira_link_to_epic | put the issue below an epic
confluence confluence_search | search the wiki
confluence confluence_create_page | write a new page in confluence
confluence confluence_get_page | read a wiki page
asana asana_create_task | create an asana task with a due date
asana asana_add_task_dependencies | this task has to be done before that one
trello add_card_to_list | new trello card
trello move_card | move the card to Done
trello archive_card | archive a trello card
todoist add-task | remind me to buy milk tomorrow, add it to my to-do list
todoist complete-task | check off a to-do
todoist find-tasks-by-date | which tasks are due today
todoist reschedule-task | postpone a task to next week
postgres query | run a select on the postgres database
postgres get_object_details | columns of a postgres table
postgres explain_query | execution plan of a slow query
postgres analyze_workload_indexes | which indexes should I add
postgres analyze_db_health | is the database healthy
postgres get_top_queries | slowest queries
mysql mysql_list_tables | which tables are in mysql
mysql mysql_query | mysql select
sqlite create_table | create a table in sqlite
sqlite describe_table | schema of a sqlite table
mongodb find | query documents in a mongo collection
mongodb aggregate | aggregation pipeline in mongodb
mongodb insert-many | insert documents into the collection
mongodb drop-collection | drop a mongo collection
mongodb atlas-create-db-user | new database user for the atlas cluster
redis set | store a value in redis for an hour
redis hgetall | all fields of a redis hash
redis publish | publish to a redis channel
supabase apply_migration | run a migration on supabase
supabase execute_sql | raw SQL on supabase
supabase get_logs | supabase logs of my project
supabase deploy_edge_function | deploy an edge function
supabase generate_typescript_types | typescript types for the database
supabase get_advisors | security problems of my supabase tables
neon create_branch | branch the neon database
neon get_connection_string | connection string of the postgres branch
elasticsearch list_indices | which indices are in elasticsearch
elasticsearch get_mappings | mapping of an elastic index
snowflake run_snowflake_query | query snowflake
bigquery execute_bigquery_sql | run SQL in bigquery
bigquery forecast_series | forecast a time series
awsdocs search_documentation | search the AWS docs
awsdocs read_documentation | read a page of AWS documentation
aws call_aws | list my EC2 instances with the aws cli
cloudflare dns_record_create | add a CNAME record
cloudflare purge_cache | clear the CDN cache
cloudflare r2_bucket_create | new R2 bucket
cloudflare workers_list | my cloudflare workers
vercel deploy_to_vercel | deploy the project to vercel
vercel get_deployment_build_logs | why did the vercel build fail
vercel check_domain_availability_and_price | is this domain name still free and what does it cost
netlify manage-env-vars | set an environment variable of my netlify site
netlify deploy-site | publish my site on netlify
kubernetes pods_list_in_namespace | pods in the namespace kube-system
kubernetes pods_log | logs of a crashed pod
kubernetes pods_exec | run a command inside the pod
kubernetes resources_scale | scale the deployment to five replicas
kubernetes events_list | recent events of the cluster
kubernetes nodes_top | CPU and memory of the nodes
kubernetes helm_install | install a helm chart
docker list_containers | which docker containers are running
docker run_container | start a container from an image
docker fetch_container_logs | logs of the docker container
docker build_image | build the dockerfile
terraform search_modules | terraform module for a VPC
terraform create_run | terraform plan in the workspace
sentry search_issues | which errors happened in production today, from sentry
sentry get_issue_details | stack trace of the sentry error
sentry analyze_issue_with_seer | root cause of the crash and a fix
sentry find_releases | when was the last release deployed, by sentry
datadog query_metrics | CPU metric of the last hour in datadog
datadog search_traces | slow spans of a service
datadog mute_host | silence the alerts of a host
grafana search_dashboards | find a grafana dashboard
grafana query_loki_logs | log lines with LogQL
grafana query_prometheus | PromQL for the error rate
pagerduty create_incident | page the on-call engineer about an outage
pagerduty acknowledge_incident | ack the incident
stripe create_refund | give the customer their money back
stripe create_payment_link | link where a customer can pay
stripe list_invoices | invoices of a customer
stripe cancel_subscription | end a subscription
stripe retrieve_balance | how much money is in our stripe account
stripe list_disputes | chargebacks
shopify get-customer-orders | orders that a shop customer placed
shopify adjust-inventory | change the stock of a product
hubspot hubspot-list-deals | deals in our CRM
salesforce salesforce_query_records | salesforce records of an account
figma get_design_context | turn the selected figma frame into code
figma download_figma_images | export images from figma
brave brave_local_search | cafes near me with opening hours
tavily tavily_crawl | crawl a whole website
maps maps_directions | how do I get to the airport by train
maps maps_geocode | coordinates of an address
weather get_forecast | will it rain in Paris tomorrow
spotify create_playlist | make a playlist with songs for running
youtube get_transcript | subtitles of a youtube video
home light_turn_on | switch on the kitchen light
home climate_set_temperature | make the bedroom warmer
serena find_referencing_symbols | where is this function used in the code
serena rename_symbol | rename a class everywhere
huggingface dataset_search | a dataset for sentiment on the hub
pdf merge_pdfs | combine two PDFs
`

/** Wishes in people's own words over the tools of popular servers, each with the one tool that fulfils it. */
export const popularQueries: readonly { server: string; tool: string; query: string }[] = text
  .trim()
  .split('\n')
  .map((line) => {
    const [target = '', query = ''] = line.split(' | ')
    const [server = '', tool = ''] = target.split(' ')
    return { server, tool, query }
  })
