//! What a workload will ask of a translation layer, call by call as the host makes them when it
//! serves it (`Host::serve`), for one that looks ahead.

use ftl::FutureRequest;
use trace::HostOp;

use crate::SimError;
use crate::workload::paging::HostRequest;
use crate::workload::stream::Requests;

/// All calls that serving these requests makes.
pub(crate) fn all_calls(mut requests: Requests) -> Result<Vec<FutureRequest>, SimError> {
    let (mut calls, mut request) = (Vec::new(), HostRequest::new());
    while requests.next(&mut request)? {
        add_calls(&request, &mut calls);
    }
    Ok(calls)
}

fn add_calls(request: &HostRequest, calls: &mut Vec<FutureRequest>) {
    let op = request.op;
    if op == HostOp::Write {
        calls.extend(request.partial_pages().map(|lpn| FutureRequest { op: HostOp::Read, lpn, pages: 1 }));
    }
    calls.extend(request.extents.iter().map(|extent| FutureRequest { op, lpn: extent.lpn, pages: extent.pages }));
}
