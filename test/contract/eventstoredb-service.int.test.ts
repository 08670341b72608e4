/**
 * What the in-memory EventStoreDB answers, seen by the real client over real gRPC. These are tests of the wire: they
 * hold the service to a reading of the server's source, not to a real server.
 */
import { checkAppends } from '../support/eventstoredb/checks/appends.ts';
import { checkFaults } from '../support/eventstoredb/checks/faults.ts';
import { checkNodes } from '../support/eventstoredb/checks/nodes.ts';
import { checkProgram } from '../support/eventstoredb/checks/program.ts';
import { checkReads } from '../support/eventstoredb/checks/reads.ts';
import { checkSubscriptions } from '../support/eventstoredb/checks/subscriptions.ts';

checkAppends();
checkReads();
checkSubscriptions();
checkFaults();
checkNodes();
checkProgram();
